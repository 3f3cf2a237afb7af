"""One program of a space, built and timed by a worker of the lanes.

The space is made once, in the process that forks the workers: a trial is tens of milliseconds of
forking instead of seconds of importing, and a schedule that crashes or never ends costs itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

from graph_net.isolate import Sandbox
from graph_net.isolate.messages import text_of
from graph_net.measure.placement import Placement
from graph_net.measure.protocol import MeasureLimits
from graph_net.measure.server import Server
from graph_net.measure.task import WorkerContext
from graph_net.programs.spaces import Space, SpaceError, repeats_of
from graph_net.results import (
    Failure,
    Json,
    Program,
    Stage,
    Symptom,
    Task,
    program_from_json,
    program_to_json,
)
from graph_net.results.signature import clean_text, message_of, signature_of

COMPILE_SECONDS, RUN_SECONDS = 15.0, 5.0
"""TenSet's limits: a schedule that compiles longer never ends, one that runs longer is no good."""


def trial_limits() -> MeasureLimits:
    """What one program may cost."""
    seconds = dict.fromkeys(Stage, RUN_SECONDS) | {Stage.COMPILE: COMPILE_SECONDS}
    return MeasureLimits(seconds, 4 << 30)


@dataclass(frozen=True)
class Trial:
    """A schedule of a space, to be measured."""

    space: Space
    task: Task
    schedule: str
    flops: float = 0.0
    limits: MeasureLimits = field(default_factory=trial_limits)

    @property
    def key(self) -> str:
        """The hash of the schedule."""
        return blake2b(self.schedule.encode(), digest_size=8).hexdigest()

    def sandbox(self, workdir: Path) -> Sandbox:
        """Its work directory and nothing else: the space was made before the fork."""
        return Sandbox(workdir)

    def check(self, result: bytes) -> None:
        """Raise ValueError unless these bytes are a program of this schedule."""
        program = program_from_json(result)
        if (program.task, program.schedule) != (self.task, self.schedule):
            raise ValueError("a program of another schedule")

    def keep(self, workdir: Path) -> None:
        """Nothing of a trial is kept but its times."""

    def run(self, context: WorkerContext) -> bytes:
        """Build beside others, then run alone; the Program, as JSON."""
        clock, stage = context.clock, Stage.COMPILE
        began = clock()
        context.announce(stage, {})
        placement = Placement(len(os.sched_getaffinity(0)))  # as it is before a runtime changes it
        try:
            built = self.space.build(self.schedule)
            context.wait()
            stage = Stage.FIRST_RUN
            built.start_threads()
            with placement:
                costs = built.times(repeats_of(self.flops))
        except SpaceError as error:
            why = clean_text(text_of(error))
            return self._failed(stage, Symptom.UNSUPPORTED, why, clock() - began)
        except Exception as error:
            return self._failed(stage, Symptom.EXCEPTION, message_of(error), clock() - began)
        return self._made(tuple(costs), None, clock() - began)

    def died(self, failure: Failure, known: dict[str, Json], started: str, seconds: float) -> bytes:
        """The program of a trial that was killed, or died.

        Who runs it has one stage for running; what fails there is called as in tuners' files.
        """
        if failure.stage is Stage.MEASURE:
            failure = replace(failure, stage=Stage.FIRST_RUN)
        return self._made((), failure, seconds)

    def _failed(self, stage: Stage, symptom: Symptom, why: str, seconds: float) -> bytes:
        return self._made((), Failure(stage, symptom, why, signature_of(why)), seconds)

    def _made(self, costs: tuple[float, ...], failure: Failure | None, seconds: float) -> bytes:
        program = Program(
            self.task,
            self.schedule,
            costs,
            failure,
            seconds=round(seconds, 4),
            measured=round(time.time(), 3),
        )
        return program_to_json(program).encode()


def serve_trials(trials: Iterable[Trial], jobs: int, root: Path, sink: int) -> None:
    """Run trials in the lanes of this process, and write what came of each to ``sink``."""
    source, nobody = os.pipe()
    os.close(nobody)
    server = Server(jobs, "cpu", root, source, sink)
    server.queue.extend(trials)
    server.serve()
    os.close(source)
