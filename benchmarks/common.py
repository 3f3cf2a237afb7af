"""Ratios in one run: candidates take turns, so that what disturbs one disturbs the others."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from resource import RUSAGE_CHILDREN, RUSAGE_SELF

from rich.console import Console
from rich.table import Table

console = Console(width=100)


def processor_seconds() -> float:
    """The processor time of this process and of those it has waited for."""
    own, waited = (resource.getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + waited.ru_utime + waited.ru_stime


def seconds(
    candidates: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The median time of each candidate, measured in rounds of alternating order."""
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(repeats):
        names = list(candidates)
        for name in names if turn % 2 == 0 else reversed(names):
            start = clock()
            candidates[name]()
            found[name].append(clock() - start)
    return {name: statistics.median(times) for name, times in found.items()}


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    table = Table(title=title, title_justify="left")
    table.add_column(header[0])
    for column in header[1:]:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def verdict(holds: bool, claim: str) -> bool:
    """Print whether a claim holds; the value is the claim's truth."""
    console.print(f"{'holds' if holds else 'FAILS'}: {claim}")
    return holds
