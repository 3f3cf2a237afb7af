"""Measure programs on a GPU: all cores compile without using it, one process measures.

Needs only torch, triton and numpy, because machines with a GPU are often bare. Processes are
reused: one that hangs or crashes loses only its current program, and is replaced.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing.connection import wait
from typing import Any

from graph_net.isolate import INHERITED, Ending, Finished, Limits, Sandbox
from graph_net.isolate.lane import Lane
from graph_net.isolate.workdir import temporary_directory
from graph_net.programs.collection.bench import Event, LostTurn
from graph_net.programs.collection.outcome import make_program
from graph_net.programs.collection.plan import PendingProgram, Turn
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.spaces.space import Workload
from graph_net.programs.triton.space import TritonSpace
from graph_net.programs.triton.workers import Make, compiler, measurer, probe
from graph_net.results import Device, Failure, Program, Stage, Symptom, Task
from graph_net.results.death import failure_from

COMPILE_SECONDS, MEASURE_SECONDS = 30, 20
WAITING = 4
"""Compiled programs that may wait to be measured, per compiling process."""
HOPELESS = 5
"""Measuring processes that may die in a row without a result."""


class NoGpu(ValueError):
    """This machine has no GPU that programs can run on."""


@dataclass
class CudaBench:
    """Compiles programs of the Triton space in one lane and measures them in another."""

    target: str
    device: Device
    compiling: Lane[PendingProgram]
    measuring: Lane[PendingProgram]
    lost: int = 0
    """Measuring processes that have died since the last result."""
    _tasks: dict[str, Task] = field(default_factory=dict)

    def count(self, task: CollectedTask, seed: int, most: int) -> int:
        """Return ``most``: counting a workload's programs would take longer than drawing them."""
        return most

    def run(self, turns: Iterator[Turn], best: Mapping[str, float]) -> Generator[Event]:
        """Compile ahead of measuring, across turns, so that neither waits for the other."""
        programs = self.pending(turns)
        ready: deque[PendingProgram] = deque()
        try:
            while self.lost < HOPELESS:
                while self.compiling.free and len(ready) < WAITING * self.compiling.size:
                    if (program := next(programs, None)) is None:
                        break
                    self.compiling.give(program)
                if ready and self.measuring.free:
                    program = ready.popleft()
                    self.measuring.give(replace(program, best=best.get(program.workload.hash)))
                if not self.compiling.busy + self.measuring.busy:
                    return
                wait(self.compiling.descriptors() + self.measuring.descriptors(), timeout=0.2)
                for done in self.compiling.take_finished():
                    if (failure := _failure(done, Stage.COMPILE)) is not None:
                        yield self._program(done.item, failure, {})
                    else:
                        ready.append(replace(done.item, compile_seconds=done.answer["compiled"]))
                for done in self.measuring.take_finished():
                    yield self._measured(done)
                yield None
            yield LostTurn(f"{HOPELESS} measuring processes in a row ended without a result")
        finally:
            self.compiling.stop()
            self.measuring.stop()

    def pending(self, turns: Iterator[Turn]) -> Iterator[PendingProgram]:
        """Yield the programs of turns that are not measured yet, drawing them on demand."""
        drawn: defaultdict[str, list[str]] = defaultdict(list)
        schedules: dict[str, Iterator[str]] = {}
        for turn in turns:
            workload = turn.task.workload
            if workload.hash not in schedules:
                space = TritonSpace(workload, self.target)
                schedules[workload.hash] = space.sample(turn.wanted.per_task, turn.seed)
                self._tasks[workload.hash] = turn.task.named(self.target)
            known = drawn[workload.hash]
            known += islice(schedules[workload.hash], turn.end - len(known))
            yield from turn.pending(known)

    def _measured(self, done: Finished[PendingProgram]) -> Program:
        died = done.death is not None
        self.lost = self.lost + 1 if died else 0
        return self._program(done.item, _failure(done, Stage.FIRST_RUN), done.answer or {})

    def _program(
        self, program: PendingProgram, failure: Failure | None, result: Mapping[str, Any]
    ) -> Program:
        extra = dict(result.get("extra", {}))
        if program.compile_seconds:
            extra["compiled"] = round(program.compile_seconds, 3)
        if program.again:
            extra["again"] = True
        seconds = program.compile_seconds + result.get("seconds", 0.0)
        task = self._tasks[program.workload.hash]
        return make_program(task, program.schedule, failure or result["costs"], seconds, extra)


def _failure(done: Finished[PendingProgram], stage: Stage) -> Failure | None:
    """Return the failure of a program: its process's death, or what its process reported."""
    if done.death is not None:
        return failure_of_end(done, stage)
    reported = done.answer.get("failure")
    if reported is None:
        return None
    stage, symptom = Stage(reported["stage"]), Symptom(reported["symptom"])
    return Failure(**{**reported, "stage": stage, "symptom": symptom})


def failure_of_end(done: Finished[PendingProgram], stage: Stage) -> Failure:
    """Return the failure of a program whose process ended.

    Exceptions of a compiler or a kernel are results; an exception here is a bug of the bench.
    """
    assert done.death is not None
    if done.death.ending in (Ending.EXCEPTION, Ending.NO_ANSWER):
        return Failure(stage, Symptom.INFRASTRUCTURE, done.death.reason[:300])
    return failure_from(done.death, stage)


@contextmanager
def open_cuda_bench(workload: Workload, jobs: int = 0) -> Iterator[CudaBench]:
    """Yield the bench of this machine's GPU; raise NoGpu if there is none.

    ``workload`` is used to test the compiler. All cores but two compile unless ``jobs`` says
    otherwise.
    """
    os.environ.setdefault("TRITON_STORE_BINARY_ONLY", "1")
    with temporary_directory("triton-") as folder:
        # One cache directory for all processes: one compiles, another loads.
        sandbox = Sandbox(folder, device="cuda")
        probed = ask_process(probe, "describe", 120, sandbox)
        if probed.death is not None or not probed.answer:
            why = probed.death or "torch sees none"
            raise NoGpu(f"no GPU that torch and triton can use here: {why}")
        target, device = probed.answer["target"], Device(**probed.answer["device"])
        import torch  # noqa: F401  # once, here, rather than in each process that is forked

        schedule = next(TritonSpace(workload, target).sample(1, 0))
        first = PendingProgram(workload, schedule)
        tried = ask_process(compiler(target, True), first, 60, sandbox)
        alone = tried.death is None and "failure" not in tried.answer
        size = jobs or max(1, (os.cpu_count() or 3) - 2)
        yield CudaBench(
            target,
            device,
            Lane(compiler(target, alone), size, Limits(COMPILE_SECONDS, None), sandbox),
            Lane(measurer(target), 1, Limits(MEASURE_SECONDS, None), sandbox),
        )


def ask_process(make: Make, item: Any, seconds: int, sandbox: Sandbox = INHERITED) -> Finished[Any]:
    """Return the answer of a new process to one item."""
    lane: Lane[Any] = Lane(make, 1, Limits(seconds, None), sandbox)
    lane.give(item)
    try:
        while True:
            wait(lane.descriptors(), timeout=0.5)
            for done in lane.take_finished():
                return done
    finally:
        lane.stop()
