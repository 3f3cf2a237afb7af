"""Bisection over the records of a whole run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from graph_net.bisect.problem import Problem, find_defect
from graph_net.bisect.search import BisectError, BisectSettings, Witness, bisect, trials
from graph_net.compilers import CompilerError, require_compiler
from graph_net.compilers.trusted import trusted_config
from graph_net.graph import Graph
from graph_net.results import Config, Record


def select_troubled(
    records: Iterable[Record], problem: Problem | None, level: float, compiler: Config | None = None
) -> list[Record]:
    """The records that show a problem (this one, or any), in the order of compilers and names.

    ``compiler`` is what a user asked for: a name, and options unless any will do.
    """
    found = []
    for record in records:
        seen = find_defect(record, level)
        asked = compiler is None or _asked(record.config, compiler)
        if seen is not None and asked and problem in (None, seen.problem):
            found.append(record)
    return sorted(found, key=lambda record: (record.config.label, record.subject.name))


def _asked(stored: Config, wanted: Config) -> bool:
    same = not wanted.options or dict(wanted.options) == dict(stored.options)
    return same and stored.name == wanted.name


def bisect_run(
    records: Iterable[Record],
    graph_of: Callable[[str], Graph],
    settings: BisectSettings,
    told: Callable[[str], None] = lambda line: None,
    typed: Collection[Config] = (),
) -> Iterator[Witness]:
    """A witness for each record that can be shown again; the others are told of.

    ``graph_of`` gives a graph by its name and raises a ValueError where there is none. Records
    choose compilers as ``trusted_config`` lets them; ``typed`` are those that a user named.
    """
    todo = []
    for record in records:
        try:
            todo.append((record, usable_config(record.config, typed)))
        except CompilerError as error:
            told(f"{record.subject.name} is passed over: {error}")
    if not todo:
        return
    with trials([config for _, config in todo], settings) as ask:
        for number, (record, config) in enumerate(todo, 1):
            name, seen = record.subject.name, find_defect(record, settings.level)
            sought = replace(settings, problem=None if seen is None else seen.problem)
            told(f"{number} of {len(todo)}: {config.label} on {name}")
            try:
                yield bisect(name, graph_of(name), config, sought, ask, told)
            except BisectError as error:
                told(f"{error}")
            except ValueError as error:
                told(f"{name} is passed over: {error}")


def usable_config(stored: Config, typed: Collection[Config]) -> Config:
    """The configuration of a record, if it may be run and can be here; raises CompilerError."""
    config = trusted_config(stored, typed)
    require_compiler(config.name, config.options)
    return config
