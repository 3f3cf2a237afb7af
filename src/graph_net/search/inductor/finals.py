"""Finals: Inductor's fastest choices of a short operation are timed again, in turns.

One timing of a kernel of a few microseconds is off by more than the choices differ. The fastest few
are timed again in alternating order, and the median of all their times decides between them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from graph_net.search.inductor.queued_timing import timed_elsewhere

log = logging.getLogger(__name__)

SHORT = 0.015
"""Milliseconds; longer operations are timed once."""
NEAR = 1.15
"""Choices within this factor of the fastest take part."""
FINALISTS, ROUNDS = 3, 2
TIMING = "benchmark_choices"
"""Inductor's function that times choices."""
TIMED_BY = "queued finals"
"""How the choices of ``learned`` are timed, for the key of a cache; change it with the timing."""
Times = dict[Any, float]


@contextmanager
def finals() -> Iterator[None]:
    """Let Inductor time its fastest choices again, on a CUDA device, for the block."""
    selector = _selector()
    before = vars(selector).get(TIMING)
    repeated = keep_finals()
    try:
        yield
    finally:
        if repeated is not None:
            repeated.active = False
            if vars(selector)[TIMING].__func__ is repeated:
                setattr(selector, TIMING, before)


def keep_finals() -> RepeatedTiming | None:
    """Do the same for the rest of this process; return None if that is done already."""
    selector = _selector()
    before = vars(selector).get(TIMING)
    if not isinstance(before, classmethod):
        log.warning("graph_net times choices once: this torch has no %s", TIMING)
        return None
    timing: Any = before.__func__
    if isinstance(timing, RepeatedTiming) and timing.active:
        return None
    repeated = RepeatedTiming(timing)
    setattr(selector, TIMING, classmethod(repeated))
    return repeated


def _selector() -> Any:
    from torch._inductor.select_algorithm import AlgorithmSelectorCache

    return AlgorithmSelectorCache


@dataclass(eq=False)
class RepeatedTiming:
    """Inductor's function that times choices, with finals at its end."""

    timing: Callable[..., Times]
    active: bool = True
    """False after the block has ended: one that began later may still call this."""

    def __call__(
        self, selector: Any, choices: Sequence[Any], arguments: Any, *more: Any, **options: Any
    ) -> Times:
        """Return the milliseconds of each choice."""
        times = self.timing(selector, choices, arguments, *more, **options)
        together = any(more) or any(options.values())  # several machines time as one
        if not self.active or together or timed_elsewhere():
            return times
        try:
            return {**times, **repeat(times, lambda one: self._once(selector, one, arguments))}
        except Exception as error:  # the first times are good enough
            log.warning("graph_net could not time choices again: %s", error)
            return times

    def _once(self, selector: Any, choice: Any, arguments: Any) -> float:
        return self.timing(selector, [choice], arguments)[choice]


def repeat(times: Mapping[Any, float], timed: Callable[[Any], float]) -> Times:
    """Return the times that change: medians of the finalists; none if once is enough.

    A finalist that fails twice loses; if all fail, the first times stay. A choice outside the final
    with a lower time than the winner's median would win by being timed once: it gets a little more.
    """
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
    medians = {choice: median(values) for choice, values in taken.items()}
    won = min(medians.values())
    if won == math.inf:
        return {}
    lucky = [one for one, spent in ran.items() if spent <= won and one not in medians]
    return {**dict.fromkeys(lucky, math.nextafter(won, math.inf)), **medians}


def _is_on_gpu(choice: Any) -> bool:
    device = getattr(getattr(choice, "layout", None), "device", None)
    return device is not None and device.type == "cuda"
