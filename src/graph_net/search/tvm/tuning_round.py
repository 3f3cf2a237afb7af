"""A round of tuning: one confined process that makes a task's space, proposes and measures.

Programs come through a pipe and are written by the process that tunes, as in a collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from graph_net.isolate import Needs
from graph_net.learn.learning_set import Features, LearningTask
from graph_net.learn.program_features import beside, cores_of
from graph_net.programs.collection.cpu_bench import CpuBench, TurnProcess
from graph_net.programs.collection.plan import PendingProgram, Turn, Wanted
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.collection.trial import Trial
from graph_net.programs.features import code_features
from graph_net.programs.features.compiled_code import describe_compiled
from graph_net.programs.spaces import Space
from graph_net.programs.spaces.loop_tiles import COLUMNS, LoopTileEncoder
from graph_net.programs.spaces.metaschedule import MetaScheduleSpace
from graph_net.results import Program
from graph_net.search.history import SearchHistory
from graph_net.search.proposer import Evolution, Proposer
from graph_net.search.search_space import DrawnSpace

MUTATIONS = 8
"""Of each parent in a generation: replaying one takes TVM milliseconds."""
EVOLUTION = Evolution(population=256, generations=4, parents=32, unlike=0.3)
"""Seconds per round. With a fifth of the candidates the best of a first batch took 1.09 times as
long, and with batches of like programs 1.10 times (geometric means of 20 tasks, one seed each)."""
SPACE_SECONDS = 120.0


@dataclass(frozen=True)
class NumberedTrial(Trial):
    """A trial whose schedule may be measured several times in a round."""

    number: int = 0

    @property
    def key(self) -> str:
        """The hash of the schedule, and which measurement it is."""
        return f"{super().key}-{self.number}"


@dataclass
class TuningRound(TurnProcess):
    """Proposes programs of one task, or takes given ones, and runs their trials."""

    task: CollectedTask
    proposer: Proposer
    history: SearchHistory
    count: int
    jobs: int
    seed: int
    given: Sequence[str] = ()
    """Programs to measure, in this order, instead of what the proposer would choose."""

    def __post_init__(self) -> None:
        self.turn = Turn(self.task, 0, Wanted(self.count, turn=max(self.count, 1)), {})

    @property
    def most_seconds(self) -> int:
        """How long it may take where every trial takes as long as it may."""
        return super().most_seconds + int(SPACE_SECONDS)

    @property
    def needs(self) -> Needs:
        """What the process reads: there are no schedules drawn before."""
        return Needs(reads=(Path("/proc"),))

    def trials(self, space: Space, writes: int) -> Sequence[Trial]:
        """Return the trials of the given programs, or of what the proposer chooses."""
        chosen = list(self.given) or self._propose(space)
        space.ready()
        named = self.task.named(space.target)
        return [
            NumberedTrial(space, named, PendingProgram(self.task.workload, text), number=number)
            for number, text in enumerate(chosen)
        ]

    def _propose(self, space: Space) -> list[str]:
        drawn = searched_space(space, self.task)
        chance = Random(f"{self.seed}:{len(self.history)}")  # noqa: S311 - no secret
        return self.proposer.propose(drawn, self.history, self.count, chance)


def searched_space(space: Space, task: CollectedTask) -> DrawnSpace:
    """Return a MetaSchedule space as a search takes it, in the features ``tiles``."""
    described = LearningTask(task.named(space.target).hash, task.workload.name)
    return described_space(described, cores_of(space.target), space)


def described_space(task: LearningTask, cores: int, space: Space | None = None) -> DrawnSpace:
    """Return the programs of a task, described by the loops they make on so many cores.

    In detail they are described by their machine code too.
    """
    encoder = LoopTileEncoder(cores)

    def encode(schedules: Sequence[str]) -> list[Features]:
        return list(encoder.encode(schedules)[:, None])

    if not isinstance(space, MetaScheduleSpace):
        return DrawnSpace(space, COLUMNS, encode, task, MUTATIONS)

    def encode_compiled(schedules: Sequence[str]) -> list[Features]:
        code = (compiled_row(space, schedule)[None] for schedule in schedules)
        return [beside(*rows) for rows in zip(encode(schedules), code, strict=True)]

    names = (*COLUMNS, *code_features.COLUMNS)
    detailed = DrawnSpace(space, names, encode_compiled, task, MUTATIONS)
    return DrawnSpace(space, COLUMNS, encode, task, MUTATIONS, detailed)


def compiled_row(space: MetaScheduleSpace, schedule: str) -> Features:
    """Return the features of a program's machine code; zeros if it cannot be compiled or read."""
    try:
        return describe_compiled(space, schedule)
    except (RuntimeError, ValueError):
        return np.zeros(len(code_features.COLUMNS), np.float32)


def run_round(work: Path, jobs: int, process: TuningRound) -> tuple[list[Program], list[str]]:
    """Return the programs that a round measured, and what went wrong with the round itself."""
    from graph_net.compilers.tvm_ready import load_intrinsics

    load_intrinsics()  # once, here: every round is forked with it
    programs, problems = [], []
    for event in CpuBench(work, jobs).measure(process):
        if isinstance(event, Program):
            programs.append(event)
        elif event is not None:
            problems.append(event.text)
    return programs, problems
