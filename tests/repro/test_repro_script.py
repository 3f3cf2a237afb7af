"""Scripts that stand alone: what they hold, what they show, and what never becomes code."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import fx
from torch.nn import functional as F

from graph_net.graph import Graph, GraphError, Level, Node, Provenance, Ref
from graph_net.graph.fx import from_fx
from graph_net.isolate import deaths
from graph_net.isolate.sandbox import SWITCH
from graph_net.measure.plan import config_of
from graph_net.repro import ReproError, ScriptOutcome, try_script, write_script
from graph_net.repro.templates import harness
from graph_net.results import Config, ConfigKind
from graph_net.testing.compiler_graphs import GRAPHS

EAGER = Config(ConfigKind.COMPILER, "eager")
SECONDS = 0.2
LIMIT = 300.0
HOSTILE = "\"\"\"\n'''\nimport os; os.system('touch owned')\r\u2028raise SystemExit(0)#\\"
BUG = {
    "cpp.inject_relu_bug_TESTING_ONLY": "accuracy",
    "cpp.simdlen": 1,
    "cpp_cache_precompile_headers": False,
}
"""Inductor's own switch for planting a wrong kernel, and what makes it compile quickly."""


def relu_graph() -> Graph:
    def twice(x: torch.Tensor) -> torch.Tensor:
        return F.relu(x) * 2

    return from_fx(fx.symbolic_trace(twice), [torch.randn(64, 64)])


def tried(graph: Graph, config: Config, name: str = "g") -> tuple[ScriptOutcome, str]:
    shown = try_script(write_script(name, graph, config, seconds=SECONDS), LIMIT)
    return shown.outcome, shown.sentence + shown.printed


# -- what is shown ------------------------------------------------------------------------------


def test_a_wrong_kernel_is_shown() -> None:
    outcome, words = tried(relu_graph(), config_of("inductor", json.dumps(BUG)))
    assert outcome is ScriptOutcome.SHOWN, words
    assert words.startswith("mismatch: output 0 differs in 4096 of 4096 elements"), words


def test_an_operator_that_onnx_has_not_is_shown() -> None:
    pytest.importorskip("onnxruntime")
    graph = from_fx(fx.symbolic_trace(lambda x: torch.linalg.eigvals(x)), [torch.randn(3, 3)])
    outcome, words = tried(graph, config_of("onnxruntime"))
    assert outcome is ScriptOutcome.SHOWN, words
    assert words.startswith("error: "), words


def test_hostile_words_stay_words() -> None:
    """Names and provenance are comments and strings; eager shows nothing, and nothing runs."""
    origin = Provenance(library=HOSTILE, model=HOSTILE, category=HOSTILE, tags=(HOSTILE,))
    graph = GRAPHS["nested"]()
    config = replace(EAGER, version=HOSTILE, options={HOSTILE: HOSTILE})
    text = write_script(HOSTILE, replace(graph, provenance=origin), config, seconds=SECONDS)
    assert calls(text) == calls(write_script("g", graph, EAGER, seconds=SECONDS))
    shown = try_script(text, LIMIT)
    assert shown.outcome is ScriptOutcome.NOT_SHOWN, shown.printed


def calls(text: str) -> list[str]:
    """Every call and import of a script."""
    nodes = (ast.Call, ast.Import, ast.ImportFrom)
    return [ast.dump(node) for node in ast.walk(ast.parse(text)) if isinstance(node, nodes)]


def test_strings_of_a_graph_are_quoted() -> None:
    """A text among the arguments of a call, where the source does need it."""
    graph = relu_graph()
    first, last = graph.nodes
    odd = replace(last, kwargs=(("rounding_mode", HOSTILE),), target="torch.div")
    text = write_script("g", replace(graph, nodes=(first, odd)), EAGER)
    nodes = list(ast.walk(ast.parse(text)))
    assert HOSTILE in [node.value for node in nodes if isinstance(node, ast.Constant)]
    assert "system" not in [node.attr for node in nodes if isinstance(node, ast.Attribute)]


def test_a_name_that_is_not_ascii_is_refused() -> None:
    node = Node("größe", "torch.relu", (Ref("x"),))
    graph = replace(relu_graph(), nodes=(node,), output=Ref("größe"))
    with pytest.raises(GraphError, match="plain ASCII"):
        write_script("g", graph, EAGER)


@pytest.mark.parametrize("name", sorted(GRAPHS))
@pytest.mark.parametrize("compiler", ["eager", "inductor", "onnxruntime", "openvino"])
def test_scripts_read_and_import_nothing_of_ours(name: str, compiler: str) -> None:
    config = Config(ConfigKind.COMPILER, compiler, options={"mode": "default"})
    if compiler not in ("eager", "inductor") and name == "mutation":
        with pytest.raises(ReproError, match="changes its inputs"):
            write_script(name, GRAPHS[name](), config)
        return
    tree = ast.parse(write_script(name, GRAPHS[name](), config))
    roots = {
        word.split(".")[0]
        for node in ast.walk(tree)
        for word in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert roots <= {*sys.stdlib_module_names, "torch", "onnxruntime", "openvino"}


def test_on_a_gpu_tensors_are_made_there() -> None:
    graph = relu_graph()
    ones = Node("ones", "torch.ones", (64,))
    graph = replace(graph, nodes=(ones, *graph.nodes))
    text = write_script("g", graph, EAGER, device="cuda")
    assert '.to("cuda")' in text
    assert 'torch.ones(64, device=device(type="cuda", index=0))' in text
    assert "torch.ones(64)" in write_script("g", graph, EAGER)


@pytest.mark.parametrize("compiler", ["tvm", "xla", "iree"])
def test_what_is_not_possible_yet_is_said(compiler: str) -> None:
    with pytest.raises(ReproError, match="it is for: eager, inductor, onnxruntime, openvino"):
        write_script("g", relu_graph(), Config(ConfigKind.COMPILER, compiler))


def test_a_graph_of_paddle_is_not_possible_yet() -> None:
    graph = Graph((), (), None, level=Level.PADDLE)
    with pytest.raises(ReproError, match="Paddle"):
        write_script("g", graph, EAGER)


# -- the harness, in this process ---------------------------------------------------------------


class Squares(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ x


def asked(compiled: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    tolerance = {torch.float32: (1e-3, 1e-3)}
    make: Callable[[], list[Any]] = lambda: [torch.ones(96, 96)]  # noqa: E731
    code = harness.main(
        Squares(), make, lambda *_: compiled, {}, tolerance, [], False, False, SECONDS
    )
    return code, capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("cost", "outcome", "words"),
    [
        (2.0, harness.SHOWN, "SHOWN: slower, 0.50x as fast as eager"),
        (1.01, harness.NOT_SHOWN, "NOT SHOWN: the same outputs, 0.99x as fast as eager"),
        (0.5, harness.NOT_SHOWN, "NOT SHOWN: the same outputs, 2.00x as fast as eager"),
    ],
)
def test_a_slowdown_is_shown_by_a_clock_that_is_sure(
    cost: float,
    outcome: int,
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Time passes only where something is computed, so no load of the machine can decide this."""
    passed = 0.0

    def takes(seconds: float, x: torch.Tensor) -> torch.Tensor:
        nonlocal passed
        passed += seconds
        return x @ x

    clock = SimpleNamespace(perf_counter=lambda: passed, monotonic=lambda: passed)
    monkeypatch.setattr(harness, "time", clock)
    monkeypatch.setattr(Squares, "forward", lambda self, x: takes(1e-3, x))
    code, said = asked(lambda x: takes(cost * 1e-3, x), capsys)
    assert code == outcome
    assert said.startswith(words)


@pytest.mark.parametrize(
    ("compiled", "why"),
    [
        (lambda x: (x @ x) * 1.1, "mismatch: output 0 differs"),
        (lambda x: (x @ x).double(), "mismatch: output 0 is torch.float64"),
        (lambda x: (x @ x)[:3], "mismatch: output 0 is torch.float32 (3, 96)"),
        (lambda x: (x @ x, x), "mismatch: 2 outputs instead of 1"),
        (lambda x: x @ x * float("nan"), "mismatch: output 0 differs"),
        (lambda x: 1 / 0, "error: ZeroDivisionError"),
    ],
)
def test_what_is_wrong_is_named(
    compiled: Callable[..., Any], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = asked(compiled, capsys)
    assert code == harness.SHOWN
    assert said.startswith(f"SHOWN: {why}")


def test_a_missing_output_is_counted_in_the_singular() -> None:
    assert harness.difference([1], [1, 2], {}) == "1 output instead of 2"


# -- the clean process --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "outcome", "why"),
    [
        ("print('SHOWN: it')", ScriptOutcome.SHOWN, "it"),
        ("print('NOT SHOWN: fine'); raise SystemExit(1)", ScriptOutcome.NOT_SHOWN, "fine"),
        ("print('CANNOT TELL: no'); raise SystemExit(2)", ScriptOutcome.CANNOT_TELL, "no"),
        ("import os; os.kill(os.getpid(), 11)", ScriptOutcome.SHOWN, "crash: died of SIGSEGV"),
        ("raise ValueError", ScriptOutcome.CANNOT_TELL, "ended with status 1 and no answer"),
        ("pass", ScriptOutcome.CANNOT_TELL, "ended with status 0 and no answer"),
    ],
)
def test_outcomes_of_a_process(text: str, outcome: ScriptOutcome, why: str) -> None:
    shown = try_script(text, LIMIT)
    assert (shown.outcome, shown.sentence) == (outcome, why)


def test_a_process_that_does_not_end_is_stopped() -> None:
    shown = try_script("import time; time.sleep(10_000)", 1.0)
    assert (shown.outcome, shown.sentence) == (ScriptOutcome.TIMEOUT, "took more than 1 s")


def test_a_script_that_was_killed_from_outside_shows_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SWITCH, "off")  # confined, a process cannot send itself this signal
    shown = try_script("import os; print('SHOWN: it', flush=True); os.kill(os.getpid(), 9)", LIMIT)
    assert shown.outcome is ScriptOutcome.CANNOT_TELL
    assert shown.sentence == "killed by a signal from outside (SIGKILL)"


def test_a_script_that_the_kernel_killed_for_memory_shows_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SWITCH, "off")
    kills = iter(range(9))  # one more each time that the kernel is asked
    monkeypatch.setattr(deaths, "oom_kills", lambda: next(kills))
    shown = try_script("import os; os.kill(os.getpid(), 9)", LIMIT)
    assert shown.outcome is ScriptOutcome.CANNOT_TELL
    assert shown.sentence == "the machine ran out of memory"


def test_the_process_sees_neither_our_environment_nor_our_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET", "x")
    clean = "'SECRET' not in os.environ and sys.flags.isolated"
    text = f"import os, sys\nassert {clean}\nprint('SHOWN: 1')"
    assert try_script(text, 20.0).outcome is ScriptOutcome.SHOWN
