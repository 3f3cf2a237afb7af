"""Read the sources of a data set of layouts; what could not be published is refused here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.printable import count_phrase
from graph_net.results import canonical, json_object

if TYPE_CHECKING:
    from graph_net.results import Program

NPZ = "npz"
PROGRAMS = "programs-plain.parquet"
NEEDED = ("graph", "library", "model", "category", "compiler")
"""Texts that the details of every task have."""
Result = tuple[object, ...]
"""All that two results share if they are the same one."""


def read_sources(sources: Mapping[str, Sequence[Path]]) -> dict[str, list[Program]]:
    """Return the layouts of each platform in the order of its sources, each result once.

    Raise ValueError, with the file and the line, on anything that cannot be published.
    """
    return {platform: _read_platform(platform, paths) for platform, paths in sources.items()}


def check_nothing_is_lost(
    output: Path,
    platforms: Mapping[str, Sequence[Program]],
    sources: Mapping[str, Sequence[Path]],
    replaced: bool,
) -> None:
    """Raise ValueError if publishing to ``output`` drops results that are there.

    ``replaced`` allows it for the platforms that are named.
    """
    for path in sorted(output.glob(f"*/{PROGRAMS}")):
        folder = path.parent
        if folder.name not in platforms:
            raise ValueError(
                f"{output} has the platform {folder.name} too, which its splits and card would "
                f"lose; name it as well: {folder.name}={folder}"
            )
        if others := sorted(one.name for one in folder.glob("programs*.parquet") if one != path):
            raise ValueError(f"{folder} has programs of its own: delete {', '.join(others)} first")
        named = {source.resolve() for source in sources[folder.name]}
        if replaced or folder.resolve() in named:
            continue
        wanted = {_result(program) for program in platforms[folder.name]}
        if lost := sum(_result(program) not in wanted for program in _read_source(folder)):
            raise ValueError(
                f"{folder} has {count_phrase(lost, 'result')} that no source has; to add to "
                f"them, name it too: {folder.name}={folder}; to drop them, give --replace"
            )


def _read_platform(platform: str, paths: Iterable[Path]) -> list[Program]:
    if not re.fullmatch(r"[a-z0-9_]+", platform) or platform == NPZ:
        raise ValueError(f"{platform!r} is not a platform's name; write letters and digits")
    results: dict[Result, Program] = {}
    for path in paths:
        for program in _read_source(path):
            results.setdefault(_result(program), program)
    devices = sorted({program.task.target for program in results.values()})
    if len(devices) != 1:
        raise ValueError(f"{platform} has layouts of {', '.join(devices)}: name one for each")
    return list(results.values())


def _result(program: Program) -> Result:
    """Return what identifies a result, also after it was published: dates are microseconds then."""
    task, failure = program.task, program.failure
    return (
        task.target, task.workload, program.schedule, program.costs,
        None if failure is None else (failure.stage, failure.symptom, failure.message),
        None if program.measured is None else round(program.measured * 1e6), program.extra,
    )  # fmt: skip


def _read_source(path: Path) -> list[Program]:
    """Return the layouts of a journal or of a published platform (a folder)."""
    layouts: list[Program] = []
    refused: list[str] = []
    for line, read in _read_folder(path) if path.is_dir() else _read_journal(path):
        reason = read if isinstance(read, str) else _why_refused(read)
        if reason:
            refused.append(f"{path}, {line}: {reason}")
        elif not isinstance(read, str):
            layouts.append(read)
    if refused:
        more = f" (and {len(refused) - 1:,} more like it)" if len(refused) > 1 else ""
        raise ValueError(refused[0] + more)
    if not layouts:
        raise ValueError(f"{path} has no layouts; `graph-net configs collect` writes them")
    return layouts


def _read_journal(path: Path) -> Iterator[tuple[str, Program | str]]:
    """Yield the programs of a journal as ``ingest`` reads them, or why a line is damaged."""
    from graph_net.programs.formats.collected import read_collected
    from graph_net.store.lines import Damage

    for location, read in read_collected(path):
        yield f"line {location.line:,}", read.reason if isinstance(read, Damage) else read


def _read_folder(path: Path) -> Iterator[tuple[str, Program | str]]:
    from graph_net.programs.dataset.restore import read_published

    for number, program in enumerate(read_published(path), 1):
        # A column of the plain form goes back to the front of ``extra``, whatever its name.
        tree = json_object(program.extra)
        yield f"row {number:,}", replace(program, extra=canonical(tree)) if tree else program


def _why_refused(program: Program) -> str:
    """Return why a program cannot be published; empty if it can."""
    from graph_net.configs.layouts.layout_config import FORMAT
    from graph_net.configs.layouts.layout_npz import SEARCHES

    if program.task.format != FORMAT:
        return f"it is a program of {program.task.format}, not a layout"
    details, extra = json_object(program.task.details), json_object(program.extra)
    if missing := [name for name in NEEDED if not isinstance(details.get(name), str)]:
        return f"the details of its task do not say the {', '.join(missing)}"
    if program.extra and not extra:
        return "its extra is not a JSON object with something in it"
    search, control = extra.get("search"), extra.get("control")
    if search is not None and search not in SEARCHES:
        return f"the search {search!r} is unknown; known: {', '.join(SEARCHES)}"
    if program.failure is None and not _are_times(control, len(program.costs)):
        return "its extra has no control, a time of the original for each of its own"
    return ""


def _are_times(values: Any, count: int) -> bool:
    is_list = isinstance(values, list) and len(values) == count
    return is_list and all(isinstance(one, float | int) and one > 0 for one in values)
