"""What every compiler must do, as a check that a third party can run on its own.

    from graph_net.testing.compiler import check_compiler

    def test_my_compiler() -> None:
        check_compiler(MyCompiler())

Small graphs of several kinds are compiled and run in a process forked from this one, as the
measuring half does it. For each the compiler must be right or raise ``Unsupported``.
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
"""A compiler has so long for one graph of the kit, on the slowest machine."""


@dataclass
class Report:
    """What a compiler did with the graphs of the kit."""

    taken: list[str] = field(default_factory=list)
    unsupported: dict[str, list[str]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)


def check_compiler(
    compiler: Compiler, *, device: str = "cpu", graphs: Sequence[str] = tuple(GRAPHS)
) -> Report:
    """What it took and what not; an AssertionError that names every failure if there is one."""
    report = examine(compiler, device=device, graphs=graphs)
    if report.findings:
        raise AssertionError("\n".join([f"{compiler.name}:", *report.findings]))
    return report


def examine(
    compiler: Compiler, *, device: str = "cpu", graphs: Sequence[str] = tuple(GRAPHS)
) -> Report:
    """As ``check_compiler``, without raising."""
    report = Report(findings=list(_words(compiler, device)))
    if report.findings:
        return report
    compiler.prepare(device)
    # As where it will be measured: confined, and one that dies takes one graph with it.
    pool = Pool(Limits(SECONDS, None), 1, Sandbox(None, compiler.needs, device))
    for done in pool.batches([Batch(lambda: partial(_tried, compiler, device), tuple(graphs))]):
        _add(done, report)
    refused = [name for name in BASIC if name in report.unsupported]
    report.findings.extend(f"{name}: refused, and no compiler may refuse it" for name in refused)
    return report


def _words(compiler: Compiler, device: str) -> Iterator[str]:
    """What can be said of a compiler before it compiles anything."""
    missing = compiler.missing()
    if missing is not None:
        yield f"cannot be used here: {missing}"
        return
    if device not in compiler.devices:
        yield f"does not run on {device}; it has: {', '.join(compiler.devices)}"
    if not isinstance(compiler.version(), str) or not compiler.version():
        yield "version() gives no text"
    try:
        type(compiler)({NO_OPTION: 1})
    except CompilerError:
        pass
    except Exception as error:
        yield f"an unknown option raises {type(error).__name__}, not CompilerError"
    else:
        yield "an unknown option is accepted"


def _add(done: Finished[str], report: Report) -> None:
    """Add what came of one graph."""
    name = done.item
    if done.death is not None:
        report.findings.append(f"{name}: {done.death}")
        return
    report.taken.extend([name] if done.answer["taken"] else [])
    report.findings.extend(f"{name}: {text}" for text in done.answer["findings"])
    if done.answer["reasons"]:
        report.unsupported[name] = done.answer["reasons"]


def _tried(compiler: Compiler, device: str, name: str) -> dict[str, Any]:
    """Try one graph, in the process that may die of it."""
    torch.set_num_threads(1)  # a pool of the parent's does not survive the fork
    trial = _Trial(compiler, name, device)
    try:
        with tempfile.TemporaryDirectory() as workdir:
            trial.go(Path(workdir))
    except Unsupported as error:
        trial.refused(error)
    except MemoryError:
        raise  # the pool says what the limit was
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

    def go(self, workdir: Path) -> None:
        """Compile, run twice on other tensors, compile once more."""
        self.graph = GRAPHS[self.name]()
        inputs = tuple(make_inputs(self.graph, self.device))
        job = Job(self.graph, inputs, self.device, workdir, 1)
        here, processes = os.getcwd(), _children()
        runner = self.compiler.compile(job)
        self._say(os.getcwd() == here, "compile() leaves another working directory")
        self._say(_children() <= processes, "compile() leaves a process behind")
        self._unchanged(inputs, "compile()")
        first = self._compare(runner)
        kept = copy_inputs(flat_outputs(first))
        self._compare(runner, other=True)
        self._same(flat_outputs(first), kept, "a later call changes the result of an earlier one")
        self._unchanged(inputs, "running on other tensors")
        again = self.compiler.compile(job)
        self._compare(again, when="compiled again in the same directory: ")
        self.taken = True

    def refused(self, error: Unsupported) -> None:
        self.reasons = list(error.reasons)
        if not any(reason.strip() for reason in error.reasons):
            self.findings.append("Unsupported without a reason")

    def _inputs(self, other: bool) -> list[Any]:
        """The job's inputs again, or others: a small tensor's recipe is its values, not a seed."""
        made = make_inputs(self.graph, self.device)
        for value in made:
            if other and isinstance(value, torch.Tensor) and value.is_floating_point():
                value.mul_(-0.5)
        return made

    def _compare(
        self, runner: Callable[[list[Any]], Any], other: bool = False, when: str = ""
    ) -> Any:
        given, reference = self._inputs(other), self._inputs(other)
        with torch.inference_mode():
            wanted = run(self.graph, reference, device=self.device)
            found = runner(given)
        self._say(_form(found) == _form(wanted), f"{when}results are nested otherwise than eager's")
        self._same(flat_outputs(found), flat_outputs(wanted), f"{when}results differ from eager's")
        self._same(given, reference, f"{when}the inputs are left otherwise than by eager")
        return found

    def _unchanged(self, inputs: Sequence[Any], what: str) -> None:
        fresh = make_inputs(self.graph, self.device)
        self._same(list(inputs), fresh, f"{what} changes the job's inputs")

    def _same(self, found: Sequence[Any], wanted: Sequence[Any], text: str) -> None:
        why = next(filter(None, map(_difference, found, wanted)), None)
        if len(found) != len(wanted):
            why = f"{len(found)} instead of {len(wanted)}"
        self._say(why is None, f"{text}: {why}")

    def _say(self, holds: bool, text: str) -> None:
        if not holds and text not in self.findings:
            self.findings.append(text)


def _difference(found: Any, wanted: Any) -> str | None:
    if not isinstance(wanted, torch.Tensor) or not isinstance(found, torch.Tensor):
        return None if type(found) is type(wanted) and found == wanted else f"{found} != {wanted}"
    if found.dtype is not wanted.dtype:
        return f"{found.dtype} instead of {wanted.dtype}"
    if found.shape != wanted.shape:
        return f"shape {tuple(found.shape)} instead of {tuple(wanted.shape)}"
    limit = TOLERANCE.get(wanted.dtype, 1e-3)
    close = torch.isclose(found, wanted, rtol=limit, atol=limit, equal_nan=True)
    return None if bool(close.all()) else f"{int((~close).sum())} of {close.numel()} values"


def _form(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(_form, value)]
    if isinstance(value, dict):
        return {key: _form(item) for key, item in value.items()}
    return "leaf"


def _children() -> set[str]:
    """Ids of this process's own children; nothing where the system does not tell."""
    found: set[str] = set()
    for path in Path("/proc/self/task").glob("*/children"):
        found.update(path.read_text().split())
    return found
