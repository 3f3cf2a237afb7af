"""A collection of Triton programs with compilers and a GPU that are stand-ins.

They run in real processes, which hang and die as the real ones do.
"""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graph_net.isolate import Limits
from graph_net.isolate.lane import Lane
from graph_net.programs.formats import Damage
from graph_net.programs.formats.collected import read_collected
from graph_net.programs.triton import H200
from graph_net.programs.triton.collect import Collector, plan
from graph_net.programs.triton.program_file import ProgramWriter, begun
from graph_net.programs.triton.progress import Tally
from graph_net.programs.triton.workers import Handle, PendingProgram
from graph_net.programs.triton.workloads import collect_workloads
from graph_net.results import Failure, Program

WORKS = collect_workloads()[:6]
Does = Callable[[PendingProgram], dict[str, Any]]


def good(piece: PendingProgram) -> dict[str, Any]:
    costs = [1e-4 * (1 + piece.place), 2e-4]
    details = {"registers": 64, "spills": 0, "shared": 1024}
    return {"costs": costs, "details": details, "loaded": 0.003, "seconds": 0.01}


def compiles(piece: PendingProgram) -> dict[str, Any]:
    return {"compiled": 0.5}


def collect(
    path: Path,
    compile: Does = compiles,
    measure: Does = good,
    each: int = 3,
    done: list[Path] | None = None,
    limit: int = 30,
    seconds: float = 60.0,
) -> Collector:
    known, goes_on = begun(path, done or [])
    writer = ProgramWriter(path, H200.text, {"name": "a stand-in"}, goes_on)

    def lane(does: Does, size: int) -> Lane[PendingProgram]:
        def make() -> Handle:
            return does

        return Lane(make, size, Limits(limit, None), starting=0)

    parts = lane(compile, 2), lane(measure, 1)
    collector = Collector(WORKS, *parts, writer, Tally(WORKS))
    try:
        pieces = (one for one in plan(WORKS, H200.text, each, known) if not one.again)
        collector.run(pieces, time.monotonic() + seconds)
    finally:
        writer.close()
        for part in parts:
            part.stop()
    return collector


def programs(path: Path) -> list[Program]:
    found = [program for _, program in read_collected(path)]
    assert not any(isinstance(program, Damage) for program in found)
    return [program for program in found if isinstance(program, Program)]


def failures(path: Path) -> list[Failure]:
    return [program.failure for program in programs(path) if program.failure is not None]


def is_first(piece: PendingProgram) -> bool:
    """Whether a piece is the first program of the first workload."""
    return piece == next(plan(WORKS, H200.text, 1, Counter()))
