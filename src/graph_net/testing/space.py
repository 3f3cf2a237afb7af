"""A conformance kit for spaces (call ``check_space`` in a test) and a space for tests."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import time
from typing import Any

import numpy as np

from graph_net.programs.spaces import Built, Space, SpaceError, Workload
from graph_net.results import canonical


class SpaceDefect(AssertionError):
    """A space violates the protocol ``graph_net.programs.spaces.Space``."""


def check_space(space: Space, programs: int = 8, seed: int = 0) -> tuple[str, ...]:
    """Return the schedules drawn, mutated, encoded and built; raise SpaceDefect on a defect."""
    drawn = tuple(space.sample(programs, seed))
    if not drawn:
        raise SpaceDefect("sample() draws nothing")
    if len(set(drawn)) != len(drawn):
        raise SpaceDefect("sample() draws a schedule twice")
    if drawn[: len(drawn) // 2] != tuple(space.sample(len(drawn) // 2, seed)):
        raise SpaceDefect("a shorter sample is not the beginning of a longer one")
    if not space.count() >= len(drawn):
        raise SpaceDefect(f"count() returns {space.count():g}, but {len(drawn)} were drawn")
    shapes = set()
    for number, schedule in enumerate(drawn):
        _check_text(space, schedule)
        encoded = space.encode(schedule)
        shapes.add((encoded.shape, encoded.dtype))
        if not np.isfinite(encoded).all():
            raise SpaceDefect(f"encode() returns infinities or NaNs for {schedule[:200]}")
        other = space.mutate(schedule, number)
        if other is not None:
            _check_text(space, other)
            if other == schedule:
                raise SpaceDefect("mutate() returns its argument; return None if none is left")
    if len(shapes) > 1:
        raise SpaceDefect(f"encode() returns several shapes: {shapes}")
    for bad in ("", "[", "null", '{"no": "schedule"}'):
        if space.wrong(bad) is None:
            raise SpaceDefect(f"wrong() finds nothing wrong with {bad!r}")
    times = space.build(drawn[0]).times(3)
    if len(times) != 3 or not all(seconds > 0 for seconds in times):
        raise SpaceDefect(f"times(3) returns {times}, not three positive numbers of seconds")
    return drawn


def _check_text(space: Space, schedule: str) -> None:
    if canonical(json.loads(schedule)) != schedule:
        raise SpaceDefect(f"a schedule is canonical JSON; this is not: {schedule[:200]}")
    why = space.wrong(schedule)
    if why is not None:
        raise SpaceDefect(f"wrong() returns {why!r} for a schedule that the space itself drew")
    if not space.code(schedule).strip():
        raise SpaceDefect(f"code() returns nothing for {schedule[:200]}")


class SleepingSpace(Space):
    """Programs that sleep: ``{"tile": n}`` takes n microseconds; some crash, some hang."""

    name = "sleeping"

    def __init__(self, workload: Workload, target: str = "") -> None:
        self.workload = workload
        self.target = target or '{"kind":"sleep"}'
        self.settings: dict[str, Any] = json.loads(workload.module)

    def count(self) -> float:
        return float(self.settings["tiles"])

    def draw(self, seed: int) -> str | None:
        return canonical({"tile": seed % int(self.settings["tiles"])})

    def mutate(self, schedule: str, seed: int) -> str | None:
        if self.count() == 1:
            return None
        return canonical({"tile": (self._tile(schedule) + 1) % int(self.settings["tiles"])})

    def wrong(self, schedule: str) -> str | None:
        try:
            self._tile(schedule)
        except SpaceError as error:
            return str(error)
        return None

    def _tile(self, schedule: str) -> int:
        try:
            tile = json.loads(schedule)["tile"]
            if not 0 <= tile < self.settings["tiles"]:
                raise ValueError(tile)
        except (ValueError, TypeError, KeyError) as error:
            raise SpaceError(f"not a tile: {schedule[:100]}") from error
        return int(tile)

    def encode(self, schedule: str) -> np.ndarray:
        return np.array([self._tile(schedule)], "float32")

    def code(self, schedule: str) -> str:
        return f"sleep({self._tile(schedule)} µs)"

    def build(self, schedule: str) -> Built:
        return _Sleep(self._tile(schedule), self.settings)


class _Sleep(Built):
    def __init__(self, tile: int, settings: dict[str, Any]) -> None:
        if tile in settings.get("refused", ()):
            raise RuntimeError("no code for this tile")
        if tile in settings.get("endless", ()):
            time.sleep(1e6)
        self.tile, self.settings = tile, settings

    def times(self, repeats: int) -> list[float]:
        if self.tile in self.settings.get("crashing", ()):
            faulthandler.disable()  # the test runner's handler would print a traceback
            os.kill(os.getpid(), signal.SIGSEGV)
        return [1e-6 * (1 + self.tile)] * repeats
