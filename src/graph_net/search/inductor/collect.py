"""Measure Inductor's choices for operations of the corpus: ATen, its own tiles, and drawn ones.

    python -m graph_net.search.inductor.collect -o timings.jsonl --seconds 540

Runs from the repository's root with torch, triton and numpy alone. The same command continues the
file. Operations are compiled in groups: all cores compile the choices of a group while its code is
generated, then each choice is timed alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph_net.printable import first_line, printable
from graph_net.programs.triton.target import H200, Target, this_machine
from graph_net.search.inductor.case import FILE, CaseModule, KernelCase, load_cases
from graph_net.search.inductor.collection_journal import CollectionJournal
from graph_net.search.inductor.hooks import choosing, hooked
from graph_net.search.inductor.reading import read_call, read_choice
from graph_net.search.inductor.template_call import key_of
from graph_net.search.inductor.timed_call import TimedCall

GROUP = 8
"""Operations that are compiled together."""
RESERVE = 1.3
"""Of the seconds that a group is expected to take, kept before the end."""
FIRST = 12.0
"""Seconds that an operation is expected to take before one was measured."""
HOPELESS = 4
"""Groups that may fail one after the other before any was measured."""


@dataclass
class Collector:
    """Compiles cases in one process and notes what Inductor's autotuning measured."""

    journal: CollectionJournal
    device: str
    target: Target
    count: int
    software: dict[str, str]
    pending: dict[str, KernelCase] = field(default_factory=dict)
    """The cases being compiled."""

    def save(
        self,
        timings: dict[Any, float],
        name: str,
        nodes: Sequence[Any],
        choices: Sequence[Any],
        profiled: Any,
        compiled: dict[Any, float] | None = None,
    ) -> None:
        """Note the times of one operation; a feedback saver of Inductor."""
        call = read_call(name, nodes, choices)
        if call is None:
            return
        found = tuple(
            read_choice(choice, timings.get(choice), (compiled or {}).get(choice))
            for choice in choices
        )
        key = "" if call.module is None else key_of(call.module)
        case = key if key in self.pending else ""
        self.journal.add(TimedCall(call, found, self.target.name, self.software, case))

    def compile(self, cases: Sequence[KernelCase]) -> None:
        """Compile operations as one graph, which makes Inductor measure their choices."""
        import torch

        self.pending = {case.key: case for case in cases}
        self.journal.begin(list(self.pending))
        torch._dynamo.reset()
        with torch.no_grad():
            graph, chosen = operations(cases, self.device), options(self.device)
            compiled: Any = torch.compile(graph, fullgraph=True, dynamic=False, options=chosen)
            compiled(*(operands[0] for operands in graph.operands))
        for key in self.pending.keys() - self.journal.measured:
            self.journal.fail(key, "Inductor had no choice to make")


def operations(cases: Sequence[KernelCase], device: str) -> Any:
    """Return a module whose parameters are the weights of all cases."""
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
    """Return the options of Inductor that measure every choice, and each operation as it stands."""
    backends = "ATEN,TRITON" if device == "cuda" else "ATEN,CPP"
    return {
        "max_autotune": True,
        "max_autotune_gemm_backends": backends,
        "freezing": device == "cpu",  # C++ templates need constant weights
        "shape_padding": False,
        "fx_graph_cache": False,
        "autotune_local_cache": False,
        "autotune_num_choices_displayed": 0,
        "max_autotune_report_choices_stats": False,
    }


def collect(cases: Sequence[KernelCase], collector: Collector, until: float) -> None:
    """Measure cases in groups until all are measured or no group fits before ``until``."""
    spent, done, failures = 0.0, 0, 0
    while group := next(groups(cases, collector.journal), None):
        expected = (spent / done if done else FIRST) * len(group) * RESERVE
        if time.monotonic() + expected > until:
            return
        began = time.monotonic()
        try:
            collector.compile(group)
        except Exception as error:
            failures += 1
            if failures == HOPELESS and not collector.journal.measured:
                raise
            _note(collector, group, error)
        spent, done = spent + time.monotonic() - began, done + len(group)
        choices = f"{len(collector.journal.measured)} operations measured"
        print(f"{choices}, {spent / done:.1f} s each", flush=True)


def groups(cases: Sequence[KernelCase], journal: CollectionJournal) -> Iterator[list[KernelCase]]:
    """Yield what to compile next: alike operations together, what failed once alone."""
    by_key = {case.key: case for case in cases}
    left = [by_key[key] for key in journal.pending(by_key)]
    fresh = [case for case in left if not journal.begun[case.key]]
    for case in fresh:
        alike = [other for other in fresh if other.is_convolution == case.is_convolution]
        yield alike[: GROUP if journal.measured else GROUP // 2]
        return
    for case in left:
        yield [case]


def _note(collector: Collector, group: Sequence[KernelCase], error: Exception) -> None:
    """Give up a case that failed alone; end the process where the GPU can be used no more."""
    import torch

    why = first_line(error, 300)
    print(printable(f"{len(group)} operations failed: {why}"), file=sys.stderr, flush=True)
    if len(group) == 1:
        collector.journal.fail(group[0].key, why)
    if collector.device == "cuda":
        torch.cuda.synchronize()  # raises after an illegal access: begin again in a new process
        torch.cuda.empty_cache()


def interleaved(cases: Sequence[KernelCase]) -> list[KernelCase]:
    """Return cases so that a collection cut short has some of each kind."""
    products = [case for case in cases if not case.is_convolution]
    convolutions = [case for case in cases if case.is_convolution]
    share = len(convolutions) / max(len(products), 1)
    ranked = [(float(place), case) for place, case in enumerate(products)]
    ranked += [(place / share, case) for place, case in enumerate(convolutions)] if share else []
    return [case for _, case in sorted(ranked, key=lambda pair: pair[0] // (3 * GROUP))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Collect what is missing in a file; return 0, also where the time was too short."""
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--cases", type=Path, default=FILE)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--count", type=int, default=64, help="choices of an operation")
    parser.add_argument("--seconds", type=float, default=540.0, help="start nothing after")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilers")
    parser.add_argument("--held-out", action="store_true", help="cases that no model learns from")
    parser.add_argument("--most", type=int, default=1 << 20, help="cases, at most")
    given = parser.parse_args(arguments)
    cases = [case for case in load_cases(given.cases) if case.held_out == given.held_out]
    return _run(interleaved(cases)[: given.most], given, began)


@contextmanager
def compilers(jobs: int) -> Iterator[None]:
    """Have so many processes compile, and wait until they run: until then Inductor would compile
    in its own process.

    Those processes use the assembler that comes with torch, and this one Triton's, whose version is
    in the key of Triton's cache: everything would be compiled a second time here, one by one.
    """
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile
    from torch._inductor.runtime.compile_tasks import _set_triton_ptxas_path

    _set_triton_ptxas_path()
    with config.patch(compile_threads=jobs):
        if jobs > 1:
            AsyncCompile.wait_pool_ready()
        yield


def _run(cases: Sequence[KernelCase], given: argparse.Namespace, began: float) -> int:
    import torch

    from graph_net.search.inductor.sampled_choices import SampledChoices

    target = this_machine() if given.device == "cuda" else Target(name="cpu", kind="cpu")
    if target is None:
        print("this machine has no GPU: --device cpu measures C++ templates", file=sys.stderr)
        return 2
    journal = CollectionJournal(given.output)
    collector = Collector(journal, given.device, target, given.count, versions())
    sampled = SampledChoices(target if given.device == "cuda" else H200, given.count)
    print(f"{target.name}, torch {torch.__version__}, {len(cases)} cases", flush=True)
    with ExitStack() as stack:
        stack.callback(journal.close)
        stack.enter_context(compilers(given.jobs))
        stack.enter_context(choosing(sampled))
        stack.enter_context(hooked(collector.save, sampled.mark_defaults))
        collect(cases, collector, began + given.seconds)
    print(f"{len(journal.measured)} measured, {len(journal.failed)} failed", flush=True)
    return 0


def versions() -> dict[str, str]:
    """Return the versions that times depend on."""
    import torch

    found = {"torch": torch.__version__, "cuda": torch.version.cuda or ""}
    try:
        import triton
    except ImportError:
        return found
    return {**found, "triton": triton.__version__}


if __name__ == "__main__":
    raise SystemExit(main())
