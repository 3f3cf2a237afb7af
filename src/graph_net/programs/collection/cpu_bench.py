"""Measure programs on a CPU: one process per turn makes the task's space and forks each trial.

Schedules, programs and failures come through a pipe, and the collecting process writes them: code
that runs untrusted schedules cannot change a collection's files.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from graph_net.isolate import Death, Ending, Limits, Needs, Sandbox, enter
from graph_net.isolate.deaths import death_from, oom_kills, raised, wrote_garbage
from graph_net.isolate.fork import end, fork
from graph_net.isolate.fresh_thread import run_in_fresh_thread
from graph_net.isolate.messages import BadMessage, Inbox, encode, text_of
from graph_net.isolate.workdir import remove_tree
from graph_net.measure.device import describe
from graph_net.programs.collection.bench import Event, LostTurn
from graph_net.programs.collection.collect import Collection
from graph_net.programs.collection.collection_dir import JOURNAL
from graph_net.programs.collection.drawn_schedules import DrawnSchedules, schedules_of
from graph_net.programs.collection.plan import Turn, Wanted
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.collection.trial import Trial, serve_trials, trial_limits
from graph_net.programs.spaces import Space, space_of
from graph_net.programs.spaces.tvm_gauge import calibrate, forget
from graph_net.results import Device, Stage, program_from_json
from graph_net.results.signature import clean_text

MOST_MESSAGE = 1 << 26
"""Largest message from a turn's process, in bytes."""
PATIENCE = 120
"""Seconds for making a space; each draw adds a second, and each trial adds its limits."""
MOST_BYTES = 16 << 30
"""Address space of a turn's process in bytes, so that it fails before the machine runs out."""


def cpu_collection(work: Path, wanted: Wanted, jobs: int) -> Collection:
    """Return the collection of a directory, measured on this machine's cores."""
    return Collection(work / JOURNAL, wanted, CpuBench(work, jobs))


class CpuBench:
    """Builds programs in parallel on all cores, and times one at a time."""

    def __init__(self, work: Path, jobs: int) -> None:
        self.work, self.jobs = work, jobs
        (work / "samples").mkdir(parents=True, exist_ok=True)

    @cached_property
    def device(self) -> Device:
        """Return this machine, and the version of TVM."""
        software = {}
        with suppress(PackageNotFoundError):
            software["tvm"] = version("apache-tvm")
        return replace(describe(), software=software)

    def count(self, task: CollectedTask, seed: int, most: int) -> int:
        """Return how many schedules a task has: fewer than ``most`` if its space is exhausted."""
        drawn, complete = self._schedules(task, seed).known(most)
        return len(drawn) if complete else most

    def run(self, turns: Iterator[Turn], best: Mapping[str, float]) -> Generator[Event]:
        """Measure the turns in order."""
        try:
            yield from self._run(turns)
        finally:
            forget()  # later users of this process time without the gauge

    def _run(self, turns: Iterator[Turn]) -> Generator[Event]:
        loaded = False
        for turn in turns:
            schedules = self._schedules(turn.task, turn.seed)
            drawn, complete = schedules.known(turn.end)
            if complete and not turn.pending(drawn):
                continue
            if turn.task.workload.space == "metaschedule" and not loaded:
                preload_metaschedule()  # once, before forking the processes of turns
                loaded = True
            yield from self.measure(TurnProcess(turn, schedules, self.jobs))

    def measure(self, process: TurnProcess) -> Generator[Event]:
        """Start a turn's process and yield what it reports through the pipe, its only output."""
        folder = self.work / "trials"
        remove_tree(folder)
        folder.mkdir()
        reads, writes = os.pipe()
        kills = oom_kills()
        child = fork(lambda: process.live(folder, writes))
        os.close(writes)
        death = None
        try:
            yield from self._hear(process, reads)
            os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        except BadMessage as error:
            death = wrote_garbage(error)
        finally:
            os.close(reads)
            status = end(child)
        if status:
            task = process.turn.task.workload
            yield _problem(task, death or death_from(status, process.most_seconds, kills))

    def _hear(self, process: TurnProcess, reads: int) -> Generator[Event]:
        inbox = Inbox(MOST_MESSAGE, MOST_MESSAGE)
        while True:
            if not wait([reads], timeout=1.0):
                yield None
                continue
            if not (data := os.read(reads, 1 << 20)):
                return
            for message, blob in inbox.feed(data):
                yield _event(process, message, blob)

    def _schedules(self, task: CollectedTask, seed: int) -> DrawnSchedules:
        return schedules_of(self.work, task.workload.hash, seed)


def preload_metaschedule() -> None:
    """Import TVM, torch and TVM's intrinsics, and calibrate the gauge; takes seconds."""
    from graph_net.compilers.tvm_ready import load_intrinsics

    import_module("graph_net.programs.spaces.metaschedule")
    load_intrinsics()
    calibrate()


def _problem(workload: Any, death: Death) -> LostTurn:
    """Blame the task for its process's death, unless the process was killed from outside."""
    text = f"{workload.name}: the process of its space ended: {death}"
    return LostTurn(text, "" if death.ending is Ending.KILLED else workload.hash)


def _event(process: TurnProcess, message: dict[str, Any], blob: bytes) -> Event:
    """Validate a message from a turn's process; raise BadMessage if it is not allowed."""
    workload = process.turn.task.workload
    try:
        match message["event"]:
            case "samples":
                process.schedules.add(blob)
            case "failed":
                return LostTurn(clean_text(str(message["why"]))[:1000], workload.hash)
            case "record":
                program = program_from_json(blob)
                if program.task.workload != workload.hash:
                    raise BadMessage("a program of another task")
                return program
    except (KeyError, TypeError, ValueError) as error:
        raise BadMessage(str(error)[:200]) from error
    return None


class TurnProcess:
    """The process of one turn: makes the space, draws missing schedules, runs the trials."""

    def __init__(self, turn: Turn, schedules: DrawnSchedules, jobs: int) -> None:
        self.turn, self.schedules, self.jobs = turn, schedules, jobs

    @property
    def most_seconds(self) -> int:
        """Seconds that the process may take if every trial takes as long as it may."""
        seconds = trial_limits().seconds
        each = 1 + sum(seconds[stage] for stage in (Stage.COMPILE, Stage.MEASURE))
        return PATIENCE + int(2 * self.turn.wanted.turn * each)

    @property
    def needs(self) -> Needs:
        """What the process reads: it owns the workers of its trials, and watches them in /proc."""
        return Needs(reads=(Path("/proc"), self.schedules.path.parent.absolute()))

    def live(self, folder: Path, writes: int) -> None:
        """Run the turn; only ``folder`` is writable."""
        enter(Limits(self.most_seconds, MOST_BYTES), Sandbox(folder, self.needs), writes)
        workload = self.turn.task.workload

        def run() -> None:
            trials = self.trials(space_of(workload), writes)
            serve_trials(trials, self.jobs, folder / "lanes", writes)

        try:
            run_in_fresh_thread(run)  # the collecting process may have used TVM itself
        except Exception as error:
            death = raised(type(error).__name__, text_of(error), MOST_BYTES)
            tell_parent(writes, {"event": "failed", "why": f"{workload.name}: {death}"})

    def trials(self, space: Space, writes: int) -> Sequence[Trial]:
        """Draw missing schedules and send them to the parent; return the trials to measure."""
        drawn, lines = self.schedules.draw(space, self.turn.end)
        tell_parent(writes, {"event": "samples"}, lines)
        space.ready()
        task = self.turn.task.named(space.target)
        return [Trial(space, task, program) for program in self.turn.pending(drawn)]


def tell_parent(pipe: int, tree: dict[str, Any], blob: bytes = b"") -> None:
    """Send a message from a turn's process to the collecting process."""
    os.set_blocking(pipe, True)  # the lanes may have changed it
    data = memoryview(encode(tree, blob))
    while data:
        data = data[os.write(pipe, data) :]
