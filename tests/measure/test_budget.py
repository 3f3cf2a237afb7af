"""A run whose time is up: what compiles is stopped, and what is measured may finish."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from graph_net.measure import Measurement, measure, runner
from measure.asking import mine, small_graph, task

NEVER = 1e9


class Clock:
    """A clock that stands still until something happens, and then is beyond every limit."""

    def __init__(self, stage: str, late: float) -> None:
        self.now, self.stage, self.late = 0.0, stage, late
        self.heard: list[tuple[str, str]] = []

    def monotonic(self) -> float:
        return self.now

    def watch(self, event: str, key: str, stage: str) -> None:
        self.heard.append((event, stage))
        if stage == self.stage:
            self.now = self.late


def run(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, tasks: list[Measurement], until: float = 1.0
) -> list[str]:
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=clock.monotonic))
    names = {each.config.name for each in tasks}
    found = measure(tasks, jobs=1, compilers=names, watch=clock.watch, until=until)
    return [record.config.name for record in found]


def test_what_compiles_when_the_time_is_up_is_stopped_without_a_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock("compile", NEVER)
    assert run(monkeypatch, clock, [task(mine("Hangs"))]) == []
    assert clock.heard[-1] == ("stopped", "compile")


def test_what_waits_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock("compile", NEVER)
    tasks = [task(mine("Hangs"), small_graph(size)) for size in (4, 5)]
    assert run(monkeypatch, clock, tasks) == []
    assert sorted(clock.heard[-2:]) == [("stopped", ""), ("stopped", "compile")]


def test_what_is_being_measured_has_a_few_seconds_more(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock("measure", 1.0 + runner.GRACE / 2)
    assert run(monkeypatch, clock, [task("eager")]) == ["eager"]


def test_these_seconds_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock("measure", 1.0 + 2 * runner.GRACE)
    assert run(monkeypatch, clock, [task("eager")]) == []
    assert clock.heard[-1] == ("stopped", "measure")


def test_a_run_without_a_limit_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock("compile", NEVER)
    assert run(monkeypatch, clock, [task("eager")], until=float("inf")) == ["eager"]
