"""The searches of ``benchmarks.layout_gains``, with torch, numpy and the standard library alone.

Several run side by side, each in a process of its own; a lock lets only one time the device.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from statistics import fmean
from typing import Any

from graph_net.configs.layouts.layout_collection import describe_confined, layout_sites
from graph_net.configs.layouts.layout_predictor import BytesMoved, LayoutPredictor
from graph_net.configs.layouts.layout_search import SearchOutcome, SearchSettings
from graph_net.configs.layouts.open_search import open_search
from graph_net.graph import DEFAULT_LIMITS
from graph_net.isolate import Finished, Limits
from graph_net.isolate.lane import Lane
from graph_net.isolate.workdir import temporary_directory
from graph_net.learn.layout_model_files import load_layouts
from graph_net.results import read_as
from graph_net.store.files import read_bytes, read_text
from graph_net.store.journal import LineJournal, whole_lines

GRAPH, TASK, PLAN, PREDICTORS = "graph.bin", "task.json", "plan.json", "predictors"
RESULTS = "results.jsonl"
MOST_TEXT = 1 << 20
EXPECTED = 12.0
"""Seconds that a search is thought to take before one has ended."""
SPARE = 3.0
"""Seconds in which the last processes end."""
Row = dict[str, Any]


@dataclass(frozen=True)
class GainTask:
    """A graph to search, as its folder describes it."""

    name: str
    category: str
    family: str
    predictor: str = ""
    """Folder of the predictor that was learned without its family; empty: bytes moved."""


@dataclass(frozen=True)
class GainPlan:
    """What was prepared."""

    device: str
    learned_from: str
    command: str


@dataclass(frozen=True)
class Searcher:
    """Searches one prepared graph after another."""

    work: Path
    lock: Path
    device: str
    threads: int
    jobs: int
    prove_seconds: float

    def __call__(self, folder: str) -> Row:
        """Return what a search found for a graph, or why there is no answer."""
        began = time.monotonic()
        task = read_task(self.work / "graphs" / folder)
        row: Row = {"name": task.name, "category": task.category}
        try:
            row |= self._search(self.work / "graphs" / folder, task)
        except ValueError as error:
            row["failed"] = str(error)[:300]
        return row | {"took": round(time.monotonic() - began, 2)}

    def _search(self, folder: Path, task: GainTask) -> Row:
        data = read_bytes(folder / GRAPH, DEFAULT_LIMITS.bytes)
        predictor = self._predictor(task)
        with open_search(
            data, layout_sites(data), predictor, device=self.device, threads=self.threads,
            jobs=self.jobs, settings=SearchSettings(seconds=self.prove_seconds),
            alone=partial(hold, self.lock),
        ) as search:  # fmt: skip
            outcome = search.run()
            row = {"sites": len(search.sites), "seconds": search.seconds}
        return row | {"ranked_by": predictor.name} | gain_of(outcome)

    def _predictor(self, task: GainTask) -> LayoutPredictor:
        if not task.predictor:
            return BytesMoved()
        return load_layouts(self.work / PREDICTORS / task.predictor)


def gain_of(outcome: SearchOutcome) -> Row:
    """Return what a search measured, and the gain of the layout that it proved or tried."""
    row: Row = {"predicted": outcome.predicted, "measured": len(outcome.measured)}
    if not outcome.proven:
        return row
    best = outcome.best or outcome.proven[0]
    gain = best.timing.speedup
    return row | {
        "gain": [gain.value, gain.low, gain.high],
        "verdict": str(best.timing.verdict),
        "reason": best.timing.reason or "",
        "schedule": best.schedule,
    }


@contextmanager
def hold(lock: Path) -> Iterator[None]:
    """Wait until no other search times the device, and keep others from it."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # a forked process may have inherited the file


def measure(chosen: argparse.Namespace, began: float) -> None:
    """Search the prepared graphs that a file of results lacks, and end in time."""
    until = began + chosen.seconds - SPARE
    plan = read_as(GainPlan, read_text(chosen.work / PLAN, MOST_TEXT), "plan")
    if chosen.device != plan.device:
        raise SystemExit(f"{chosen.work} was prepared for {plan.device}, not {chosen.device}")
    if chosen.device == "cpu" and chosen.jobs_at_once > 1:
        raise SystemExit("on a CPU one search at a time: others would disturb what is timed")
    done = {row["name"] for row in read_results(chosen.results)}
    folders = sorted(path.name for path in (chosen.work / "graphs").iterdir())
    waiting = [one for one in folders if read_task(chosen.work / "graphs" / one).name not in done]
    described = describe_confined(chosen.device, chosen.threads)
    about: Row = {
        "device": f"{described.kind}: {described.name}",
        "threads": described.threads,
        "learned_from": plan.learned_from,
        "commands": [plan.command, command_of(chosen)],
    }
    print(f"{about['device']}: {len(waiting)} of {len(folders)} graphs", flush=True)
    jobs = chosen.jobs or max(1, (os.cpu_count() or 2) // chosen.jobs_at_once - 2)
    with temporary_directory("gains-") as folder, LineJournal(chosen.results) as journal:
        tempfile.tempdir = str(folder)  # searches that are ended leave files there
        searcher = Searcher(
            chosen.work, folder / "lock", chosen.device, described.threads, jobs,
            chosen.prove_seconds,
        )  # fmt: skip
        for row in search_all(waiting, searcher, chosen.jobs_at_once, until):
            journal.append(json.dumps(about | row).encode())
            print(line_of(row), flush=True)


def search_all(
    waiting: Sequence[str], searcher: Callable[[str], Row], size: int, until: float
) -> Iterator[Row]:
    """Yield the results as searches end; those that are not over in time are ended."""
    import torch  # noqa: F401  # once, here, rather than in each process that is forked

    left, took = list(waiting), list[float]()
    lane: Lane[str] = Lane(lambda: searcher, size, Limits(600, None))
    try:
        while left or lane.busy:
            usual = fmean(took) if took else EXPECTED
            while left and lane.free and time.monotonic() + usual < until:
                lane.give(left.pop(0))
            if not lane.busy or time.monotonic() > until:
                return
            wait(lane.descriptors(), timeout=0.2)
            for done in lane.take_finished():
                took.append(done.seconds)
                yield _row_of(done, searcher)
    finally:
        lane.stop()


def _row_of(done: Finished[str], searcher: Callable[[str], Row]) -> Row:
    if done.answer is not None:
        return dict(done.answer)
    assert isinstance(searcher, Searcher)
    task = read_task(searcher.work / "graphs" / done.item)
    return {"name": task.name, "category": task.category, "failed": f"it died: {done.death}"}


def read_task(folder: Path) -> GainTask:
    """Return the description of a prepared graph."""
    return read_as(GainTask, read_text(folder / TASK, MOST_TEXT), "task")


def read_results(path: Path) -> list[Row]:
    """Return the results of a file, one for each graph."""
    rows = [json.loads(line) for line in whole_lines(path)] if path.exists() else []
    return list({row["name"]: row for row in rows}.values())


def command_of(chosen: argparse.Namespace) -> str:
    """Return the step that was called, as a page names it: without the paths of a machine."""
    words = ["python -m benchmarks.layout_gains", chosen.step]
    words += [path_of(chosen.work)] if chosen.step == "measure" else []
    usual = {"step": chosen.step, "results": chosen.work / RESULTS}
    usual |= {"work": chosen.work} if chosen.step == "measure" else {}
    for name, value in vars(chosen).items():
        if value not in (None, "", 0, math.inf, usual.get(name)):
            text = path_of(value) if isinstance(value, Path) else str(value)
            words += [f"--{name.replace('_', '-')}", text]
    return " ".join(words)


def path_of(path: Path) -> str:
    """Return a path as a page names it."""
    return path.name if path.is_absolute() else str(path)


def line_of(row: Row) -> str:
    """Return a result as one line."""
    if "gain" in row:
        told = "{:.3f} ({:.3f} to {:.3f})".format(*row["gain"]) + f", {row['verdict']}"
    else:
        told = row.get("failed", "no layout could be measured")
    return f"{row['name']}: {told}; {row.get('measured', 0)} measured, {row.get('took', 0)} s"
