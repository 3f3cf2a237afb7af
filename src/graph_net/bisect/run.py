"""Bisection over the records of a whole run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from graph_net.bisect.problem import Problem, shown
from graph_net.bisect.search import BisectError, Settings, Witness, bisect, trials
from graph_net.graph import Graph
from graph_net.record import Record


def troubled(
    records: Iterable[Record], problem: Problem | None, level: float, compiler: str | None = None
) -> list[Record]:
    """The records that show a problem (this one, or any), in the order of compilers and names.

    ``compiler`` is a name, or a name with options as ``graph-net query`` shows it.
    """
    found = []
    for record in records:
        seen = shown(record, level)
        asked = compiler in (None, record.config.name, record.config.label)
        if seen is not None and asked and problem in (None, seen.problem):
            found.append(record)
    return sorted(found, key=lambda record: (record.config.label, record.subject.name))


def bisect_run(
    records: Iterable[Record],
    graph_of: Callable[[str], Graph],
    settings: Settings,
    told: Callable[[str], None] = lambda line: None,
) -> Iterator[Witness]:
    """A witness for each record that can be shown again; the others are told of.

    ``graph_of`` gives a graph by its name and raises a ValueError where there is none.
    """
    todo = list(records)
    with trials([record.config for record in todo], settings) as ask:
        for number, record in enumerate(todo, 1):
            name, seen = record.subject.name, shown(record, settings.level)
            sought = replace(settings, problem=None if seen is None else seen.problem)
            told(f"{number} of {len(todo)}: {record.config.label} on {name}")
            try:
                yield bisect(name, graph_of(name), record.config, sought, ask, told)
            except BisectError as error:
                told(f"{error}")
            except ValueError as error:
                told(f"{name} is passed over: {error}")
