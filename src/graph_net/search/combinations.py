"""TenSet's last step: rebuild the network with random choices among each task's best programs.

A program that is fastest alone need not be fastest beside the others. Of ``COMBINATIONS`` networks,
each made of one of the ``TOP`` best programs of every task, the fastest end to end is kept. The
network of every task's best program is always among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from graph_net.search.measurer import SearchError

TOP, COMBINATIONS = 3, 80
Choice = dict[str, str]
"""One program per task, by the task's name."""


def combinations(
    best: Mapping[str, Sequence[str]], count: int = COMBINATIONS, top: int = TOP, seed: int = 0
) -> Iterator[Choice]:
    """Yield at most ``count`` distinct choices: first every task's best, then random ones."""
    if empty := [task for task, programs in best.items() if not programs]:
        raise SearchError(f"no program of {empty[0]} ran: measure more of it")
    chance = Random(seed)  # noqa: S311 - no secret
    most = math.prod(min(top, len(programs)) for programs in best.values())
    seen: set[tuple[str, ...]] = set()
    choice = {task: programs[0] for task, programs in best.items()}
    while len(seen) < min(count, most):
        key = tuple(choice.values())
        if key not in seen:
            seen.add(key)
            yield choice
        choice = {task: chance.choice(list(programs[:top])) for task, programs in best.items()}


def best_combination(
    best: Mapping[str, Sequence[str]],
    measure: Callable[[Choice], float],
    count: int = COMBINATIONS,
    top: int = TOP,
    seed: int = 0,
) -> tuple[Choice, float]:
    """Return the choice whose network is fastest, and its seconds."""
    tried = [(measure(choice), choice) for choice in combinations(best, count, top, seed)]
    seconds, choice = min(tried, key=lambda pair: pair[0])
    if not math.isfinite(seconds):
        raise SearchError("no combination of programs ran end to end")
    return choice, seconds
