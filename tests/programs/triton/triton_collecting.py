"""A collection of Triton programs with compilers and a GPU that are stand-ins.

They run in real processes, which hang and die as the real ones do.
"""

import math
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graph_net.isolate import Limits
from graph_net.isolate.lane import Lane
from graph_net.programs.collection import collect as collecting
from graph_net.programs.collection.collect import Collection
from graph_net.programs.collection.plan import PendingProgram, Turn, Wanted
from graph_net.programs.collection.tally import Tally
from graph_net.programs.formats import Damage
from graph_net.programs.formats.collected import read_collected
from graph_net.programs.triton import H200, TritonSpace
from graph_net.programs.triton.cuda_bench import CudaBench
from graph_net.programs.triton.workers import Handle
from graph_net.results import Device, Failure, Program
from programs.triton.some_kernels import TASKS

Does = Callable[[PendingProgram], dict[str, Any]]
STAND_IN = Device(
    "cuda", "a stand-in", 2, 2, 1 << 30, "Linux x86_64", "3.12.3", {"triton": "3.6.0"}
)


def good(program: PendingProgram) -> dict[str, Any]:
    extra = {"registers": 64, "spills": 0, "shared": 1024, "loaded": 0.003}
    return {"costs": [1e-4, 2e-4], "extra": extra, "seconds": 0.01}


def compiles(program: PendingProgram) -> dict[str, Any]:
    return {"compiled": 0.5}


def bench_of(compile: Does = compiles, measure: Does = good, limit: int = 30) -> CudaBench:
    def lane(does: Does, size: int) -> Lane[PendingProgram]:
        def make() -> Handle:
            return does

        return Lane(make, size, Limits(limit, None), starting=0)

    return CudaBench(H200.text, STAND_IN, lane(compile, 2), lane(measure, 1))


def stop_the_clock_at(path: Path, patch: pytest.MonkeyPatch) -> None:
    """End a collection's time when its file holds a program, however long that takes."""
    clock = SimpleNamespace(monotonic=lambda: math.inf if path.exists() else 0.0)
    patch.setattr(collecting, "time", clock)


def collect(
    path: Path,
    compile: Does = compiles,
    measure: Does = good,
    each: int = 3,
    limit: int = 30,
    seconds: float = math.inf,
    repeated: int = 0,
) -> tuple[Collection, Tally]:
    wanted = Wanted(each, turn=10, repeated=repeated)
    collection = Collection(path, wanted, bench_of(compile, measure, limit))
    tally = Tally()
    for program in collection.run(TASKS, time.monotonic() + seconds):
        tally.add(program)
    return collection, tally


def programs(path: Path) -> list[Program]:
    found = [program for _, program in read_collected(path)]
    assert not any(isinstance(program, Damage) for program in found)
    return [program for program in found if isinstance(program, Program)]


def failures(path: Path) -> list[Failure]:
    return [program.failure for program in programs(path) if program.failure is not None]


def first_schedule() -> str:
    """The first schedule of the first task."""
    seed = Turn(TASKS[0], 0, Wanted(1), {}).seed
    return next(TritonSpace(TASKS[0].workload, H200.text).sample(1, seed))


def is_first(program: PendingProgram) -> bool:
    """Whether a program is the first of the first task."""
    return (program.workload, program.schedule) == (TASKS[0].workload, first_schedule())
