"""``python -m graph_net.space.triton.collect``: measure Triton programs on the GPU of this machine.

Needs torch, triton, numpy and this package's sources, nothing else: machines with a GPU are bare.
A few programs of each workload are taken in turn, so that a collection which is cut off is an even
one and the data of a workload is on the GPU for several of its programs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from graph_net.isolate import Sandbox
from graph_net.isolate.place import temporary_place
from graph_net.record import RETRIED, Failure, Stage, Symptom
from graph_net.space.triton.lane import Ended, Lane
from graph_net.space.triton.lines import Outcomes, Writer, begun
from graph_net.space.triton.space import TritonSpace
from graph_net.space.triton.tally import Tally
from graph_net.space.triton.workers import Piece, compiler, mean, measurer, probe
from graph_net.space.triton.workloads import Collected, collected, read_tasks

COMPILE_SECONDS, MEASURE_SECONDS = 30.0, 20.0
RESERVE = 4.0
"""Seconds before the end at which work stops, to write what there is."""
WAITING = 4
"""Compiled programs that wait to be measured, for each process that compiles."""
TURN = 10
"""Programs of a workload in a row."""
HOPELESS = 5
"""Measuring processes that may end one after the other without a result."""


def plan(works: Sequence[Collected], target: str, each: int, done: Outcomes) -> Iterator[Piece]:
    """The programs to measure, a turn of each workload after the other; the same in every run."""
    samples = []
    for work in works:
        seed = int(work.workload.hash[:8], 16)
        samples.append(TritonSpace(work.workload, target).sample(each, seed))
    for _ in range(0, each, TURN):
        for place, sample in enumerate(samples):
            for schedule in islice(sample, TURN):
                if (works[place].workload.hash, schedule) not in done:
                    yield Piece(place, schedule)


@dataclass
class Collector:
    """Two lanes and what is between them."""

    works: Sequence[Collected]
    compiling: Lane[Piece]
    measuring: Lane[Piece]
    writer: Writer
    tally: Tally
    ready: deque[Piece] = field(default_factory=deque)
    best: dict[int, float] = field(default_factory=dict)
    lost: int = 0
    """Measuring processes that ended since the last result."""

    def run(self, pieces: Iterator[Piece], until: float) -> None:
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
            waited = self.compiling.connections() + self.measuring.connections()
            if not waited:
                break
            wait(waited, timeout=0.2)
            for ended in self.compiling.ended():
                self._compiled(ended)
            for ended in self.measuring.ended():
                self._measured(ended)
            self.tally.progress(len(self.ready))

    def _compiled(self, ended: Ended[Piece]) -> None:
        failure = stopped(ended, Stage.COMPILE, self.compiling.seconds)
        failure = failure or failure_in(ended.result)
        if failure is not None:
            self._write(ended.item, failure, {})
            return
        taken = ended.result["compiled"]
        self.ready.append(replace(ended.item, extra={"compiled": round(taken, 3)}))

    def _measured(self, ended: Ended[Piece]) -> None:
        failure = stopped(ended, Stage.FIRST_RUN, self.measuring.seconds)
        result: dict[str, Any] = ended.result or {}
        self.lost = self.lost + 1 if failure is not None else 0
        if "baseline" in result:
            self.tally.baseline(ended.item.place, mean(result["baseline"]))
        self._write(ended.item, failure or failure_in(result), result)

    def _write(self, piece: Piece, failure: Failure | None, result: dict[str, Any]) -> None:
        extra = {**piece.extra, **result.get("details", {})}
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


def stopped(ended: Ended[Piece], stage: Stage, seconds: float) -> Failure | None:
    """The failure of a piece whose process ended; None where there is a result."""
    if ended.timeout:
        return Failure(stage, Symptom.TIMEOUT, f"took more than {seconds:g} s")
    if ended.died is None:
        return None
    if ended.died:
        return Failure(stage, Symptom.CRASH, f"died of signal {ended.died}", signal=ended.died)
    return Failure(stage, Symptom.INFRASTRUCTURE, ended.message or "its process ended")


def failure_in(result: dict[str, Any]) -> Failure | None:
    """The failure that a process told of, if it did."""
    told = result.get("failure")
    if told is None:
        return None
    return Failure(**{**told, "stage": Stage(told["stage"]), "symptom": Symptom(told["symptom"])})


def asked(make: Any, item: Any, seconds: float, sandbox: Sandbox | None = None) -> Ended[Any]:
    """What a process of its own says to one question."""
    lane: Lane[Any] = Lane(make, 1, seconds, sandbox=sandbox)
    lane.give(item)
    try:
        while True:
            wait(lane.connections(), timeout=0.5)
            for ended in lane.ended():
                return ended
    finally:
        lane.stop()


def arguments() -> argparse.ArgumentParser:
    """The command's options."""
    parser = argparse.ArgumentParser(prog="graph_net.space.triton.collect", description=__doc__)
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
        tasks = read_tasks(given.tasks) if given.tasks else collected()
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    os.environ.setdefault("TRITON_STORE_BINARY_ONLY", "1")
    with temporary_place("triton-") as place:
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
    found = asked(probe, "describe", 120.0, sandbox)
    if found.result is None or not found.result["target"]:
        print(f"no GPU that torch and triton can use here {found.message}", file=sys.stderr)
        return 2
    target = found.result["target"]
    works = [work for work in tasks if given.only in work.workload.name]
    first = next(plan(works, target, 1, set()), None)
    if first is None:
        print(f"no workload has {given.only!r} in its name", file=sys.stderr)
        return 2
    import torch  # noqa: F401  # once, here, rather than in each process that is forked

    tried = asked(compiler(works, target, True), first, 60.0, sandbox)
    alone = tried.result is not None and "failure" not in tried.result
    how = {**found.result["device"], "compiled_without_gpu": alone}
    print(f"{how}; {len(works)} workloads, {given.jobs} jobs", flush=True)
    if not alone:
        print(f"compiling needs the GPU here: {tried}", flush=True)
    writer = Writer(given.out, target, how, goes_on)
    collector = Collector(
        works,
        Lane(compiler(works, target, alone), given.jobs, COMPILE_SECONDS, sandbox=sandbox),
        Lane(measurer(works, target), 1, MEASURE_SECONDS, sandbox=sandbox),
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
