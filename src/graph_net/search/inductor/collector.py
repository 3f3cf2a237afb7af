"""Collector: compiles operations in its own process and returns Inductor's measurements."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from graph_net.isolate.worker import Retire
from graph_net.printable import first_line
from graph_net.programs.triton.target import H200, Target, this_machine
from graph_net.search.inductor.case import KernelCase
from graph_net.search.inductor.case_module import CaseModule
from graph_net.search.inductor.hooks import Timing, choosing, hooked, timing_by
from graph_net.search.inductor.queued_timing import queued_timing
from graph_net.search.inductor.reading import read_call, read_choice
from graph_net.search.inductor.template_call import key_of
from graph_net.search.inductor.timed_call import TimedCall, timed_to_json

CPU = Target(name="cpu", kind="cpu")
QUEUED = "queued"
"""Clock name of a collection in which the GPU did not wait for the host."""
Handle = Callable[[Any], Any]


@dataclass
class Collector:
    """Records what Inductor's autotuning measures for the cases being compiled."""

    device: str
    target: Target
    software: dict[str, str]
    pending: set[str] = field(default_factory=set)
    found: list[TimedCall] = field(default_factory=list)
    hooks: ExitStack = field(default_factory=ExitStack)
    """Hooks installed in Inductor while this object lives."""

    def save(
        self,
        timings: dict[Any, float],
        name: str,
        nodes: Sequence[Any],
        choices: Sequence[Any],
        profiled: Any,
        compiled: dict[Any, float] | None = None,
    ) -> None:
        """Record the times of one operation; a feedback saver of Inductor."""
        call = read_call(name, nodes, choices)
        if call is None or call.module is None or key_of(call.module) not in self.pending:
            return
        found = tuple(
            read_choice(choice, timings.get(choice), (compiled or {}).get(choice))
            for choice in choices
        )
        key = key_of(call.module)
        self.found.append(TimedCall(call, found, self.target.name, self.software, key))

    def measure(self, cases: Sequence[KernelCase]) -> list[TimedCall]:
        """Compile operations as one graph, so that Inductor measures their choices."""
        import torch

        self.pending, self.found = {case.key for case in cases}, []
        torch._dynamo.reset()
        with torch.no_grad():
            graph, chosen = operations(cases, self.device), options(self.device)
            compiled: Any = torch.compile(graph, fullgraph=True, dynamic=False, options=chosen)
            compiled(*(operands[0] for operands in graph.operands))
        return self.found


def operations(cases: Sequence[KernelCase], device: str) -> Any:
    """Return a module that computes all cases; its parameters are their weights."""
    import torch

    class Operations(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = [CaseModule(case, device) for case in cases]
            self.operands = [call.operands() for call in self.calls]
            self.weights = torch.nn.ParameterList(
                torch.nn.Parameter(tensor, requires_grad=False)
                for operands in self.operands
                for tensor in operands[1:]
            )

        def forward(self, *lefts: torch.Tensor) -> list[torch.Tensor]:
            outputs, place = [], 0
            for call, operands, left in zip(self.calls, self.operands, lefts, strict=True):
                after = place + len(operands) - 1  # torch 2.11 cannot trace a slice of parameters
                weights = [self.weights[index] for index in range(place, after)]
                outputs.append(call.call([left, *weights]))
                place = after
            return outputs

    return Operations()


def options(device: str) -> dict[str, Any]:
    """Return the Inductor options that measure every choice, for each operation unfused."""
    return {
        "max_autotune": True,
        "max_autotune_gemm_backends": "ATEN,TRITON" if device == "cuda" else "ATEN,CPP",
        "freezing": device == "cpu",  # C++ templates need constant weights
        "compile_threads": 1,
        "shape_padding": False,
        "fx_graph_cache": False,
        "autotune_local_cache": False,
        "autotune_num_choices_displayed": 0,
        "max_autotune_report_choices_stats": False,
    }


@contextmanager
def timing_alone(lock: Path) -> Iterator[None]:
    """Let one process at a time use the GPU for measuring.

    A kernel is compiled and loaded at its first call, which happens before the lock is taken.
    """
    import torch

    with lock.open("a") as file:

        def alone(timed: Timing) -> Timing:
            def locked(run: Callable[[], Any], *given: Any, **more: Any) -> Any:
                run()
                torch.cuda.synchronize()
                fcntl.flock(file, fcntl.LOCK_EX)
                try:
                    return timed(run, *given, **more)
                finally:
                    fcntl.flock(file, fcntl.LOCK_UN)

            return locked

        with timing_by(alone):
            yield


def worker(device: str, count: int, lock: Path) -> Callable[[], Handle]:
    """Return a maker of workers that measure groups of cases and answer with journal lines."""

    def make() -> Handle:
        from graph_net.search.inductor.sampled_choices import SampledChoices

        target = describe(device)
        sampled = SampledChoices(target if device == "cuda" else H200, count)
        collector = Collector(device, target, versions())
        collector.hooks.enter_context(choosing(sampled))
        collector.hooks.enter_context(hooked(collector.save, sampled.mark_defaults))
        if device == "cuda":
            collector.software["clock"] = QUEUED
            collector.hooks.enter_context(queued_timing(records=True))
        collector.hooks.enter_context(timing_alone(lock))

        def handle(cases: Sequence[KernelCase]) -> dict[str, Any]:
            try:
                return {"lines": [timed_to_json(timed) for timed in collector.measure(cases)]}
            except Exception as error:
                answer = {"lines": [], "why": first_line(error, 300)}
                if device == "cuda":  # an illegal access makes the process unusable
                    raise Retire(answer) from error
                return answer

        return handle

    return make


def describe(device: str) -> Target:
    """Return the target that is measured on; raise ValueError if there is no GPU."""
    if device == "cpu":
        return CPU
    target = this_machine()
    if target is None:
        raise ValueError("this machine has no GPU: --device cpu measures C++ templates")
    return target


def probe(device: str) -> Callable[[], Handle]:
    """Return a maker of processes that report their target, to keep the caller off the GPU."""
    return lambda: lambda _: asdict(describe(device))


def versions() -> dict[str, str]:
    """Return the software versions that times depend on."""
    import torch

    found = {"torch": torch.__version__, "cuda": torch.version.cuda or ""}
    try:
        import triton
    except ImportError:
        return found
    return {**found, "triton": triton.__version__}
