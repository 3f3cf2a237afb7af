"""Who measures on a GPU has cores of its own, and everything else stopped when it asks."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from graph_net.isolate import Needs, Sandbox
from graph_net.isolate.cores import Cores
from graph_net.isolate.descendants import children_of, state_of
from graph_net.isolate.messages import Inbox
from graph_net.measure import MeasureLimits, Protocol
from graph_net.measure.arms import Arms
from graph_net.measure.server import Server
from graph_net.measure.task import WorkerContext
from graph_net.measure.timing import is_noisy
from graph_net.measure.worker import Worker
from graph_net.results import Failure, Interval, Json, Output, Stage, Timing, Verdict
from measure.asking import task


def wait_until(holds: Callable[[], bool]) -> None:
    """Look again and again."""
    while not holds():
        time.sleep(0.001)


@dataclass
class Part:
    """Work for the lanes that tells what it saw; ``place`` is where the parts meet."""

    key: str
    place: Path
    limits: MeasureLimits = field(default_factory=MeasureLimits)

    def run(self, context: WorkerContext) -> bytes:
        raise NotImplementedError

    def sandbox(self, workdir: Path) -> Sandbox:
        return Sandbox(workdir, Needs((Path("/proc"), self.place), (self.place,)))

    def check(self, result: bytes) -> None:
        json.loads(result)

    def keep(self, workdir: Path) -> None:
        """Nothing to keep."""

    def died(self, failure: Failure, known: dict[str, Json], started: str, seconds: float) -> bytes:
        return json.dumps({"died": failure.message}).encode()


class Builds(Part):
    """Compiles until the measuring one is done."""

    def run(self, context: WorkerContext) -> bytes:
        context.announce(Stage.COMPILE, {})
        (self.place / "building").touch()
        wait_until((self.place / "measured").exists)
        return json.dumps({"cores": sorted(os.sched_getaffinity(0))}).encode()


class Measures(Part):
    """Measures beside the builder, then asks for quiet."""

    def run(self, context: WorkerContext) -> bytes:
        context.announce(Stage.COMPILE, {})
        wait_until((self.place / "building").exists)
        context.wait()
        (other,) = set(children_of(os.getppid())) - {os.getpid()}
        before = state_of(other)
        context.quiet()
        # A signal is on its way when the parent answers.
        wait_until(lambda: state_of(other) == "T")
        (self.place / "measured").touch()
        cores = sorted(os.sched_getaffinity(0))
        return json.dumps({"before": before, "cores": cores}).encode()


def served(parts: list[Part], cores: Cores | None, root: Path) -> dict[str, Any]:
    """What came of some work in lanes that build while one measures."""
    reads, sink = os.pipe()
    source, nobody = os.pipe()
    os.close(nobody)
    pid = os.fork()
    if pid == 0:
        try:
            server = Server(2, "cuda", root, source, sink)
            server.cores = cores or server.cores
            server.queue.extend(parts)
            server.serve()
        finally:
            os._exit(0)
    os.close(sink)
    os.close(source)
    with os.fdopen(reads, "rb") as pipe:
        messages = Inbox().feed(pipe.read())
    os.waitpid(pid, 0)
    return {m["key"]: json.loads(blob) for m, blob in messages if m["event"] == "record"}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a machine with one core")
def test_builders_go_on_elsewhere_until_quiet_is_asked_for(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    mine = sorted(os.sched_getaffinity(0))
    cores = Cores(measuring=frozenset(mine[-1:]), others=frozenset(mine[:-1]))
    found = served([Builds("builds", place), Measures("measures", place)], cores, tmp_path / "root")
    assert found["measures"]["cores"] == mine[-1:]
    assert found["measures"]["before"] in ("R", "S", "D")
    assert "cores" in found["builds"]  # it went on, and came to its end


NOISY = Interval(1.0, 0.9, 1.1)
NARROW = Interval(1.02, 1.015, 1.025)


def timed(verdict: Verdict, speedup: Interval, noise: Interval) -> Timing:
    """A timing whose samples do not matter."""
    record = Worker(task("eager"), Path()).run()
    assert record.timing is not None
    return replace(record.timing, verdict=verdict, speedup=speedup, noise=noise, reason="a reason")


def test_only_noise_is_a_reason_to_measure_again() -> None:
    protocol = Protocol()
    wide, narrow = Interval(1.3, 1.1, 1.5), Interval(1.0, 0.995, 1.005)
    assert is_noisy(timed(Verdict.AMBIGUOUS, wide, NOISY), protocol)
    assert is_noisy(timed(Verdict.AMBIGUOUS, wide, narrow), protocol)
    assert not is_noisy(timed(Verdict.AMBIGUOUS, NARROW, narrow), protocol)
    assert not is_noisy(timed(Verdict.FASTER, wide, NOISY), protocol)


def test_a_noisy_measurement_is_made_again_in_quiet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    noisy = timed(Verdict.AMBIGUOUS, NOISY, NOISY)
    quiet = timed(Verdict.SAME, Interval(1.0, 0.99, 1.01), Interval(1.0, 0.99, 1.01))
    taken = iter([noisy, quiet])
    asked: list[str] = []
    monkeypatch.setattr(Arms, "time", lambda self, *rest: (next(taken), rest[3], None))
    worker = Worker(task("eager"), tmp_path, quiet=lambda: asked.append("quiet"))
    record = worker.run()
    assert asked == ["quiet"]
    assert record.timing == quiet
    assert record.environment["noisy_at_first"] == "a reason"


def test_a_second_measurement_that_is_noisier_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    noisy = timed(Verdict.AMBIGUOUS, NOISY, NOISY)
    taken = iter([noisy, timed(Verdict.AMBIGUOUS, NOISY, Interval(1.0, 0.5, 2.0))])
    monkeypatch.setattr(Arms, "time", lambda self, *rest: (next(taken), rest[3], None))
    assert Worker(task("eager"), tmp_path).run().timing == noisy


def test_what_the_noisy_calls_computed_counts_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    noisy = timed(Verdict.AMBIGUOUS, NOISY, NOISY)
    errors = iter([0.5, 0.25])

    def time_arms(self: Arms, *rest: Any) -> tuple[Timing, tuple[Output, ...], None]:
        error = next(errors)
        return noisy, tuple(replace(one, max_abs=error) for one in rest[3]), None

    monkeypatch.setattr(Arms, "time", time_arms)
    record = Worker(task("eager"), tmp_path).run()
    assert [one.max_abs for one in record.outputs] == [0.5]
