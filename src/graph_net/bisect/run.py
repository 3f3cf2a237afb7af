"""Bisection of the records of a run."""

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
    """Return the records that show a problem (this one, or any), by compiler and name.

    ``compiler`` is the user's choice: a name, with options unless any will do.
    """
    troubled = []
    for record in records:
        defect = find_defect(record, level)
        wanted = compiler is None or _is_wanted(record.config, compiler)
        if defect is not None and wanted and problem in (None, defect.problem):
            troubled.append(record)
    return sorted(troubled, key=lambda record: (record.config.label, record.subject.name))


def _is_wanted(stored: Config, wanted: Config) -> bool:
    same = not wanted.options or dict(wanted.options) == dict(stored.options)
    return same and stored.name == wanted.name


def bisect_run(
    records: Iterable[Record],
    graph_of: Callable[[str], Graph],
    settings: BisectSettings,
    report: Callable[[str], None] = lambda line: None,
    typed: Collection[Config] = (),
) -> Iterator[Witness]:
    """Yield a witness for each record that can be reproduced; report the others.

    ``graph_of`` returns a graph by its name and raises ValueError if it is missing. Records choose
    compilers as ``trusted_config`` allows; ``typed`` are those that a user named.
    """
    todo = []
    for record in records:
        try:
            todo.append((record, usable_config(record.config, typed)))
        except CompilerError as error:
            report(f"{record.subject.name} is skipped: {error}")
    if not todo:
        return
    with trials([config for _, config in todo], settings) as ask:
        for number, (record, config) in enumerate(todo, 1):
            name, defect = record.subject.name, find_defect(record, settings.level)
            sought = replace(settings, problem=None if defect is None else defect.problem)
            report(f"{number} of {len(todo)}: {config.label} on {name}")
            try:
                yield bisect(name, graph_of(name), config, sought, ask, report)
            except BisectError as error:
                report(str(error))
            except ValueError as error:
                report(f"{name} is skipped: {error}")


def usable_config(stored: Config, typed: Collection[Config]) -> Config:
    """Return the configuration of a record; raise CompilerError unless it may run here."""
    config = trusted_config(stored, typed)
    require_compiler(config.name, config.options)
    return config
