"""``python -m graph_net.programs.triton.collect``: measure Triton programs on this machine's GPU.

Needs torch, triton, numpy and this package's sources, nothing else: machines with a GPU are bare.
A few programs of each workload are taken in turn, so that a collection which is cut off is an even
one and the data of a workload is on the GPU for several of its programs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from graph_net.isolate import INHERITED, Ending, Finished, Limits, Sandbox
from graph_net.isolate.lane import Lane
from graph_net.isolate.workdir import temporary_directory
from graph_net.programs.triton.program_file import Outcomes, ProgramWriter, begun
from graph_net.programs.triton.progress import Tally
from graph_net.programs.triton.space import TritonSpace
from graph_net.programs.triton.workers import PendingProgram, compiler, mean, measurer, probe
from graph_net.programs.triton.workloads import Collected, collect_workloads, read_tasks
from graph_net.results import RETRIED, Failure, Stage, Symptom, digest
from graph_net.results.death import failure_from

COMPILE_SECONDS, MEASURE_SECONDS = 30, 20
RESERVE = 4.0
"""Seconds before the end at which work stops, to write what there is."""
WAITING = 4
"""Compiled programs that wait to be measured, for each process that compiles."""
TURN = 10
"""Programs of a workload in a row."""
REPEATED, APART = 50, 2
"""One program in so many is measured twice, so many turns of all workloads apart."""
HOPELESS = 5
"""Measuring processes that may end one after the other without a result."""


def plan(
    works: Sequence[Collected], target: str, each: int, done: Outcomes
) -> Iterator[PendingProgram]:
    """Yield the programs to measure, a turn of each workload after the other, always the same.

    A few come again some turns later, when all other workloads have had theirs.
    """
    samples = []
    for work in works:
        seed = int(work.workload.hash[:8], 16)
        samples.append(TritonSpace(work.workload, target).sample(each, seed))
    due: deque[list[PendingProgram]] = deque()
    for _ in range(0, each, TURN):
        again = []
        for place, sample in enumerate(samples):
            for schedule in islice(sample, TURN):
                piece = PendingProgram(place, schedule)
                times = done[works[place].workload.hash, schedule]
                if not times:
                    yield piece
                if times < 2 and is_repeated(works[place], schedule):
                    again.append(replace(piece, again=True))
        due.append(again)
        if len(due) > APART:
            yield from due.popleft()
    for again in due:
        yield from again


def is_repeated(work: Collected, schedule: str) -> bool:
    """Return whether a program is one of those that are measured twice; the same in every run."""
    return int(digest(work.workload.hash, schedule)[:8], 16) % REPEATED == 0


@dataclass
class Collector:
    """Two lanes and what is between them."""

    works: Sequence[Collected]
    compiling: Lane[PendingProgram]
    measuring: Lane[PendingProgram]
    writer: ProgramWriter
    tally: Tally
    ready: deque[PendingProgram] = field(default_factory=deque)
    best: dict[int, float] = field(default_factory=dict)
    lost: int = 0
    """Measuring processes that ended since the last result."""

    def run(self, pieces: Iterator[PendingProgram], until: float) -> None:
        """Compile and measure until all is done, the time is up, or measuring cannot work."""
        left = True
        while time.monotonic() < until and self.lost < HOPELESS:
            while left and self.compiling.free and len(self.ready) < WAITING * self.compiling.size:
                piece = next(pieces, None)
                if piece is None:
                    left = False
                else:
                    self.compiling.give(piece)
            if self.ready and self.measuring.free:
                piece = self.ready.popleft()
                self.measuring.give(replace(piece, best=self.best.get(piece.place)))
            if not self.compiling.busy + self.measuring.busy:
                break
            wait(self.compiling.descriptors() + self.measuring.descriptors(), timeout=0.2)
            for done in self.compiling.take_finished():
                self._compiled(done)
            for done in self.measuring.take_finished():
                self._measured(done)
            self.tally.progress(len(self.ready))

    def _compiled(self, done: Finished[PendingProgram]) -> None:
        failure = failure_of_end(done, Stage.COMPILE) or failure_in(done.answer)
        if failure is not None:
            self._write(done.item, failure, {})
            return
        taken = done.answer["compiled"]
        self.ready.append(replace(done.item, extra={"compiled": round(taken, 3)}))

    def _measured(self, done: Finished[PendingProgram]) -> None:
        failure = failure_of_end(done, Stage.FIRST_RUN)
        result: dict[str, Any] = done.answer or {}
        self.lost = self.lost + 1 if failure is not None else 0
        if "baseline" in result:
            self.tally.baseline(done.item.place, mean(result["baseline"]))
        self._write(done.item, failure or failure_in(result), result)

    def _write(
        self, piece: PendingProgram, failure: Failure | None, result: dict[str, Any]
    ) -> None:
        extra = {**piece.extra, **result.get("details", {})}
        if piece.again:
            extra["again"] = True
        if "loaded" in result:
            extra["loaded"] = round(result["loaded"], 4)
        if "baseline" in result:
            extra["torch"] = result["baseline"]
            if result.get("baseline_overtaken"):
                extra["torch_overtaken"] = True
        seconds = piece.extra.get("compiled", 0.0) + result.get("seconds", 0.0)
        outcome = failure or result["costs"]
        if failure is None or failure.symptom not in RETRIED:  # no outcome: --done tries it again
            self.writer.program(self.works[piece.place], piece.schedule, outcome, seconds, extra)
        if not isinstance(outcome, Failure):
            cost = mean(outcome)
            self.best[piece.place] = min(cost, self.best.get(piece.place, cost))
        self.tally.program(piece.place, outcome, extra, result.get("seconds", 0.0))


def failure_of_end(done: Finished[PendingProgram], stage: Stage) -> Failure | None:
    """The failure of a piece whose process ended; None where there is a result.

    What a compiler or a kernel raises is a result: an exception here is the collector's own.
    """
    if done.death is None:
        return None
    if done.death.ending in (Ending.EXCEPTION, Ending.NO_ANSWER):
        return Failure(stage, Symptom.INFRASTRUCTURE, done.death.reason[:300])
    return failure_from(done.death, stage)


def failure_in(result: dict[str, Any]) -> Failure | None:
    """The failure that a process told of, if it did."""
    told = result.get("failure")
    if told is None:
        return None
    return Failure(**{**told, "stage": Stage(told["stage"]), "symptom": Symptom(told["symptom"])})


def ask_process(make: Any, item: Any, seconds: int, sandbox: Sandbox = INHERITED) -> Finished[Any]:
    """What a process of its own says to one question."""
    lane: Lane[Any] = Lane(make, 1, Limits(seconds, None), sandbox)
    lane.give(item)
    try:
        while True:
            wait(lane.descriptors(), timeout=0.5)
            for done in lane.take_finished():
                return done
    finally:
        lane.stop()


def arguments() -> argparse.ArgumentParser:
    """The command's options."""
    parser = argparse.ArgumentParser(prog="graph_net.programs.triton.collect", description=__doc__)
    parser.add_argument("-o", "--out", type=Path, required=True, help="a .jsonl.gz file to write")
    parser.add_argument("--per-workload", type=int, default=70, help="programs of each workload")
    parser.add_argument("--seconds", type=float, default=540.0, help="end by itself after these")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 3) - 2))
    parser.add_argument(
        "--done", type=Path, nargs="*", default=[], help="files of earlier runs; --out to go on"
    )
    parser.add_argument("--tasks", type=Path, help="tasks to measure, as kernel_tasks writes them")
    parser.add_argument("--only", default="", help="workloads whose name has this in it")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Collect; 0 where programs were measured, 2 where nothing could be."""
    begin = time.monotonic()
    given = arguments().parse_args(argv)
    try:
        done, goes_on = begun(given.out, given.done)
        tasks = read_tasks(given.tasks) if given.tasks else collect_workloads()
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    os.environ.setdefault("TRITON_STORE_BINARY_ONLY", "1")
    with temporary_directory("triton-") as place:
        # One for all its processes: what is compiled in one is loaded by another.
        sandbox = Sandbox(place, device="cuda")
        return _collect(given, tasks, done, goes_on, begin, sandbox)


def _collect(
    given: argparse.Namespace,
    tasks: Sequence[Collected],
    done: Outcomes,
    goes_on: bool,
    begin: float,
    sandbox: Sandbox,
) -> int:
    found = ask_process(probe, "describe", 120, sandbox)
    if found.death is not None or not found.answer["target"]:
        print(f"no GPU that torch and triton can use here: {found.death}", file=sys.stderr)
        return 2
    target = found.answer["target"]
    works = [work for work in tasks if given.only in work.workload.name]
    first = next(plan(works, target, 1, Counter()), None)
    if first is None:
        print(f"no workload has {given.only!r} in its name", file=sys.stderr)
        return 2
    import torch  # noqa: F401  # once, here, rather than in each process that is forked

    tried = ask_process(compiler(works, target, True), first, 60, sandbox)
    alone = tried.death is None and "failure" not in tried.answer
    how = {**found.answer["device"], "compiled_without_gpu": alone}
    print(f"{how}; {len(works)} workloads, {given.jobs} jobs", flush=True)
    if not alone:
        print(f"compiling needs the GPU here: {tried}", flush=True)
    writer = ProgramWriter(given.out, target, how, goes_on)
    collector = Collector(
        works,
        Lane(compiler(works, target, alone), given.jobs, Limits(COMPILE_SECONDS, None), sandbox),
        Lane(measurer(works, target), 1, Limits(MEASURE_SECONDS, None), sandbox),
        writer,
        Tally(works),
    )
    pieces = plan(works, target, given.per_workload, done)
    try:
        collector.run(pieces, begin + given.seconds - RESERVE)
    finally:
        writer.close()
        collector.compiling.stop()
        collector.measuring.stop()
    print(collector.tally.table(), flush=True)
    return 0 if collector.tally.good else 2


if __name__ == "__main__":
    sys.exit(main())
