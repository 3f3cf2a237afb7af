"""One program of a space, built and timed by a worker of the lanes.

The space is made once, in the process that forks the workers. A trial then costs tens of
milliseconds of forking, not seconds of importing, and a schedule that crashes or hangs loses only
itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from graph_net.isolate import Sandbox
from graph_net.isolate.messages import text_of
from graph_net.measure.placement import Placement
from graph_net.measure.protocol import MeasureLimits
from graph_net.measure.server import Server
from graph_net.measure.task import WorkerContext
from graph_net.measure.undisturbed import time_undisturbed
from graph_net.programs.collection.outcome import make_program
from graph_net.programs.collection.plan import PendingProgram, schedule_key
from graph_net.programs.spaces import Space, SpaceError, repeats_of
from graph_net.results import (
    Failure,
    Json,
    Stage,
    Symptom,
    Task,
    program_from_json,
    program_to_json,
)
from graph_net.results.signature import clean_text, message_of, signature_of

COMPILE_SECONDS, RUN_SECONDS = 15.0, 5.0
"""TenSet's limits: slower compiles are taken to hang, slower programs are not worth timing."""

TIMING_SECONDS = 2.5
"""No further try starts if it might end later than this; a trial is stopped at RUN_SECONDS."""


def trial_limits() -> MeasureLimits:
    """Return the time and memory limits of one program."""
    seconds = dict.fromkeys(Stage, RUN_SECONDS) | {Stage.COMPILE: COMPILE_SECONDS}
    return MeasureLimits(seconds, 4 << 30)


@dataclass(frozen=True)
class Trial:
    """A program of a space, to be built and timed."""

    space: Space
    task: Task
    program: PendingProgram
    limits: MeasureLimits = field(default_factory=trial_limits)

    @property
    def key(self) -> str:
        """Hash of the schedule."""
        return f"{schedule_key(self.program.schedule):016x}"

    def sandbox(self, workdir: Path) -> Sandbox:
        """Allow the work directory only: the space was made before the fork."""
        return Sandbox(workdir)

    def check(self, result: bytes) -> None:
        """Raise ValueError unless these bytes are a program of this schedule."""
        program = program_from_json(result)
        if (program.task, program.schedule) != (self.task, self.program.schedule):
            raise ValueError("a program of another schedule")

    def keep(self, workdir: Path) -> None:
        """Keep no files: a trial has only times."""

    def run(self, context: WorkerContext) -> bytes:
        """Build beside other trials, then run alone; return the Program as JSON."""
        clock, stage = context.clock, Stage.COMPILE
        began = clock()
        context.announce(stage, {})
        placement = Placement(len(os.sched_getaffinity(0)))  # before a runtime changes the affinity
        try:
            built = self.space.build(self.program.schedule)
            context.wait()
            stage = Stage.FIRST_RUN
            built.start_threads()
            repeats = repeats_of(self.program.workload.flops)
            with placement:
                runs = time_undisturbed(lambda: built.times(repeats), clock, TIMING_SECONDS)
        except SpaceError as error:
            why = clean_text(text_of(error))
            return self._failed(stage, Symptom.UNSUPPORTED, why, clock() - began)
        except Exception as error:
            return self._failed(stage, Symptom.EXCEPTION, message_of(error), clock() - began)
        return self._result(runs.costs, clock() - began, {**runs.remarks, **built.remarks})

    def died(self, failure: Failure, known: dict[str, Json], started: str, seconds: float) -> bytes:
        """Return the program of a trial that was killed or crashed.

        The lanes have one stage for running; tuner logs call a failure there ``first_run``.
        """
        if failure.stage is Stage.MEASURE:
            failure = replace(failure, stage=Stage.FIRST_RUN)
        return self._result(failure, seconds)

    def _failed(self, stage: Stage, symptom: Symptom, why: str, seconds: float) -> bytes:
        return self._result(Failure(stage, symptom, why, signature_of(why)), seconds)

    def _result(
        self,
        outcome: Sequence[float] | Failure,
        seconds: float,
        remarks: Mapping[str, Json] = MappingProxyType({}),
    ) -> bytes:
        again = {"again": True} if self.program.again else {}
        extra = {**again, **remarks}
        program = make_program(self.task, self.program.schedule, outcome, seconds, extra)
        return program_to_json(program).encode()


def serve_trials(trials: Iterable[Trial], jobs: int, root: Path, sink: int) -> None:
    """Run trials in the lanes of this process, and write each result to ``sink``."""
    source, nobody = os.pipe()
    os.close(nobody)
    server = Server(jobs, "cpu", root, source, sink)
    server.queue.extend(trials)
    server.serve()
    os.close(source)
