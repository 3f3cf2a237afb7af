"""The conformance kit of compilers, which a third party can run on its own.

    from graph_net.testing.compiler import check_compiler

    def test_my_compiler() -> None:
        check_compiler(MyCompiler())

Small graphs of several kinds are compiled and run in a forked process, as when measuring. For each
graph the compiler must give correct results or raise ``Unsupported``.
"""

from __future__ import annotations

import os
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from graph_net.compilers import Compiler, CompilerError, Job, Unsupported
from graph_net.compilers.export import copy_inputs
from graph_net.graph import Graph
from graph_net.graph.execute import flat_outputs, make_inputs, run
from graph_net.isolate import Batch, Finished, Limits, Pool, Sandbox
from graph_net.testing.compiler_graphs import BASIC, GRAPHS

TOLERANCE = {torch.bfloat16: 5e-2, torch.float16: 1e-2, torch.float64: 1e-6}
NO_OPTION = "graph_net_has_no_such_option"

SECONDS = 600
"""The time limit for one graph of the kit, on the slowest machine."""


@dataclass
class Report:
    """The results of a compiler on the graphs of the kit."""

    taken: list[str] = field(default_factory=list)
    unsupported: dict[str, list[str]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)


def check_compiler(
    compiler: Compiler, *, device: str = "cpu", graphs: Sequence[str] = tuple(GRAPHS)
) -> Report:
    """Return the graphs taken and refused; raise an AssertionError that names every failure."""
    report = examine(compiler, device=device, graphs=graphs)
    if report.findings:
        raise AssertionError("\n".join([f"{compiler.name}:", *report.findings]))
    return report


def examine(
    compiler: Compiler, *, device: str = "cpu", graphs: Sequence[str] = tuple(GRAPHS)
) -> Report:
    """Return the report of ``check_compiler``, without raising."""
    report = Report(findings=list(_static_findings(compiler, device)))
    if report.findings:
        return report
    compiler.prepare(device)
    # Confined as when measuring; a crash loses one graph.
    pool = Pool(Limits(SECONDS, None), 1, Sandbox(None, compiler.needs, device))
    for done in pool.batches([Batch(lambda: partial(_try_graph, compiler, device), tuple(graphs))]):
        _add_result(done, report)
    refused = [name for name in BASIC if name in report.unsupported]
    report.findings.extend(f"{name}: refused, and no compiler may refuse it" for name in refused)
    return report


def _static_findings(compiler: Compiler, device: str) -> Iterator[str]:
    """Yield the defects that show before anything is compiled."""
    missing = compiler.missing()
    if missing is not None:
        yield f"cannot be used here: {missing}"
        return
    if device not in compiler.devices:
        yield f"does not run on {device}; it has: {', '.join(compiler.devices)}"
    if not isinstance(compiler.version(), str) or not compiler.version():
        yield "version() returns no text"
    try:
        type(compiler)({NO_OPTION: 1})
    except CompilerError:
        pass
    except Exception as error:
        yield f"an unknown option raises {type(error).__name__}, not CompilerError"
    else:
        yield "an unknown option is accepted"


def _add_result(done: Finished[str], report: Report) -> None:
    """Add the result of one graph to the report."""
    name = done.item
    if done.death is not None:
        report.findings.append(f"{name}: {done.death}")
        return
    report.taken.extend([name] if done.answer["taken"] else [])
    report.findings.extend(f"{name}: {text}" for text in done.answer["findings"])
    if done.answer["reasons"]:
        report.unsupported[name] = done.answer["reasons"]


def _try_graph(compiler: Compiler, device: str, name: str) -> dict[str, Any]:
    """Try one graph, in a process that it may kill."""
    torch.set_num_threads(1)  # the parent's thread pool does not survive the fork
    trial = _Trial(compiler, name, device)
    try:
        with tempfile.TemporaryDirectory() as workdir:
            trial.run(Path(workdir))
    except Unsupported as error:
        trial.refuse(error)
    except MemoryError:
        raise  # the pool reports the limit
    except Exception as error:
        where = traceback.format_tb(error.__traceback__)[-1].strip().splitlines()[0]
        trial.findings.append(f"{type(error).__name__}: {str(error)[:500]} ({where})")
    return {"taken": trial.taken, "reasons": trial.reasons, "findings": trial.findings}


class _Trial:
    """One compiler and one graph."""

    graph: Graph

    def __init__(self, compiler: Compiler, name: str, device: str) -> None:
        self.compiler, self.name, self.device = compiler, name, device
        self.taken = False
        self.reasons: list[str] = []
        self.findings: list[str] = []

    def run(self, workdir: Path) -> None:
        """Compile, run on two sets of tensors, compile again."""
        self.graph = GRAPHS[self.name]()
        inputs = tuple(make_inputs(self.graph, self.device))
        job = Job(self.graph, inputs, self.device, workdir, 1)
        here, processes = os.getcwd(), _children()
        runner = self.compiler.compile(job)
        self._check(os.getcwd() == here, "compile() leaves another working directory")
        self._check(_children() <= processes, "compile() leaves a process behind")
        self._check_unchanged(inputs, "compile()")
        first = self._compare(runner)
        copied = copy_inputs(flat_outputs(first))
        self._compare(runner, other=True)
        text = "a later call changes the result of an earlier one"
        self._check_same(flat_outputs(first), copied, text)
        self._check_unchanged(inputs, "running on other tensors")
        again = self.compiler.compile(job)
        self._compare(again, when="compiled again in the same directory: ")
        self.taken = True

    def refuse(self, error: Unsupported) -> None:
        self.reasons = list(error.reasons)
        if not any(reason.strip() for reason in error.reasons):
            self.findings.append("Unsupported without a reason")

    def _inputs(self, other: bool) -> list[Any]:
        """Return the job's inputs again, or others: a small tensor's recipe ignores the seed."""
        inputs = make_inputs(self.graph, self.device)
        for value in inputs:
            if other and isinstance(value, torch.Tensor) and value.is_floating_point():
                value.mul_(-0.5)
        return inputs

    def _compare(
        self, runner: Callable[[list[Any]], Any], other: bool = False, when: str = ""
    ) -> Any:
        inputs, reference = self._inputs(other), self._inputs(other)
        with torch.inference_mode():
            expected = run(self.graph, reference, device=self.device)
            outputs = runner(inputs)
        nested = _nesting(outputs) == _nesting(expected)
        self._check(nested, f"{when}results are nested differently from eager's")
        text = f"{when}results differ from eager's"
        self._check_same(flat_outputs(outputs), flat_outputs(expected), text)
        self._check_same(inputs, reference, f"{when}the inputs are left different from eager's")
        return outputs

    def _check_unchanged(self, inputs: Sequence[Any], action: str) -> None:
        fresh = make_inputs(self.graph, self.device)
        self._check_same(list(inputs), fresh, f"{action} changes the job's inputs")

    def _check_same(self, actual: Sequence[Any], expected: Sequence[Any], text: str) -> None:
        why = next(filter(None, map(_difference, actual, expected)), None)
        if len(actual) != len(expected):
            why = f"{len(actual)} instead of {len(expected)}"
        self._check(why is None, f"{text}: {why}")

    def _check(self, holds: bool, text: str) -> None:
        if not holds and text not in self.findings:
            self.findings.append(text)


def _difference(actual: Any, expected: Any) -> str | None:
    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        equal = type(actual) is type(expected) and actual == expected
        return None if equal else f"{actual} != {expected}"
    if actual.dtype is not expected.dtype:
        return f"{actual.dtype} instead of {expected.dtype}"
    if actual.shape != expected.shape:
        return f"shape {tuple(actual.shape)} instead of {tuple(expected.shape)}"
    limit = TOLERANCE.get(expected.dtype, 1e-3)
    close = torch.isclose(actual, expected, rtol=limit, atol=limit, equal_nan=True)
    return None if bool(close.all()) else f"{int((~close).sum())} of {close.numel()} values"


def _nesting(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(_nesting, value)]
    if isinstance(value, dict):
        return {key: _nesting(item) for key, item in value.items()}
    return "leaf"


def _children() -> set[str]:
    """Return the ids of this process's children; empty where the system does not list them."""
    ids: set[str] = set()
    for path in Path("/proc/self/task").glob("*/children"):
        ids.update(path.read_text().split())
    return ids
