"""Finals: Inductor's fastest choices of a short operation are timed again, in turns.

One timing of a kernel of a few microseconds is off by more than the choices differ. The fastest few
are timed again in alternating order, and the median of all their times decides.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

log = logging.getLogger(__name__)

SHORT = 0.015
"""Milliseconds; longer operations are timed once."""
NEAR = 1.15
"""Choices within this factor of the fastest take part."""
FINALISTS, ROUNDS = 3, 2
Times = dict[Any, float]


@contextmanager
def finals() -> Iterator[None]:
    """Let Inductor time its fastest choices again, on a CUDA device, for the block."""
    selector = _selector()
    before = selector.__dict__["benchmark_choices"]
    selector.benchmark_choices = classmethod(_with_finals(before.__func__))
    try:
        yield
    finally:
        selector.benchmark_choices = before


def keep_finals() -> None:
    """Do the same for the rest of this process; repeated calls have no effect."""
    selector = _selector()
    before = selector.__dict__["benchmark_choices"].__func__
    if not getattr(before, "has_finals", False):
        selector.benchmark_choices = classmethod(_with_finals(before))


def _selector() -> Any:
    from torch._inductor.select_algorithm import AlgorithmSelectorCache

    return AlgorithmSelectorCache


def _with_finals(timing: Callable[..., Times]) -> Callable[..., Times]:
    """Return Inductor's function that times choices, with finals at its end."""

    def benchmark_choices(
        cls: Any, choices: Sequence[Any], arguments: Any, *given: Any, **options: Any
    ) -> Times:
        times = timing(cls, choices, arguments, *given, **options)
        if any(given) or any(options.values()):  # several processes time together
            return times
        try:
            return {**times, **repeat(times, lambda one: timing(cls, [one], arguments)[one])}
        except Exception as error:  # the first times are good enough
            log.warning("graph_net could not time choices again: %s", error)
            return times

    benchmark_choices.has_finals = True  # type: ignore[attr-defined]
    return benchmark_choices


def repeat(times: Mapping[Any, float], timed: Callable[[Any], float]) -> Times:
    """Return the median time of each finalist; nothing if the operation is long."""
    ran = {choice: spent for choice, spent in times.items() if 0 < spent < math.inf}
    best = min(ran.values(), default=math.inf)
    chosen = [choice for choice in sorted(ran, key=ran.__getitem__) if ran[choice] <= NEAR * best]
    if best > SHORT or len(chosen) < 2 or not _is_on_gpu(chosen[0]):
        return {}
    chosen = chosen[:FINALISTS]
    taken = {choice: [ran[choice]] for choice in chosen}
    for turn in range(ROUNDS):
        for choice in chosen if turn % 2 else reversed(chosen):
            taken[choice].append(timed(choice))
    return {choice: median(values) for choice, values in taken.items()}


def _is_on_gpu(choice: Any) -> bool:
    device = getattr(getattr(choice, "layout", None), "device", None)
    return device is not None and device.type == "cuda"
