"""Add tuners' files to a store, several at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from graph_net.configs.config_programs import platform_of
from graph_net.configs.files import config_file
from graph_net.isolate import INHERITED, Ending, Limits, Pool, Raised
from graph_net.programs.formats import Format, ReadError, read_blocks
from graph_net.programs.formats.collected import device_of
from graph_net.programs.store.program_store import ROW_GROUP, Added, Found, Labels, ProgramStore
from graph_net.programs.store.task_table import TaskStore
from graph_net.results import Program, Task
from graph_net.store.lines import Damage, Place
from graph_net.store.parquet import source_hash

LIMITS = Limits(seconds=7 * 86_400, memory_bytes=None)
"""Limits of one file; none in practice."""
TASK_BYTES = 256 << 20
"""Most bytes of the tasks of a collected file, which are in memory together."""


def add_file(directory: Path, path: Path, kind: Format, labels: Labels) -> Added | None:
    """Add the programs of a file; return None if they were there already."""
    if kind is Format.COLLECTED and not labels.device:
        labels = replace(labels, device=device_of(path))
    if kind is Format.TPUGRAPHS and not labels.device:
        labels = replace(labels, device=platform_of(config_file(path).collection))
    store = ProgramStore(directory)
    part = store.part(path)
    if store.has(part, labels):
        return None
    found: Iterable[Found] = read_blocks(path, kind, labels.kernel, ROW_GROUP)
    if kind not in (Format.COLLECTED, Format.TPUGRAPHS):
        return store.add_part(part, path, found, labels)
    return store.add_part(part, path, _noting(found, directory, path), labels)


def _noting(found: Iterable[Found], directory: Path, path: Path) -> Iterator[Found]:
    """Yield the programs unchanged, and write the table of tasks after the last one.

    The part of programs gets its name later, so a part that exists has its tasks; after a kill in
    between, the file is read again.
    """
    tasks: dict[str, Task] = {}
    size = 0
    for what in found:
        if isinstance(what, tuple) and isinstance(what[1], Program):
            task = what[1].task
            if task.hash not in tasks:
                tasks[task.hash] = task
                size += len(task.details) + len(task.workload)
                if size > TASK_BYTES:
                    raise ReadError(f"{path} has tasks of more than {TASK_BYTES >> 20} MiB")
        yield what
    TaskStore(directory).add(source_hash(path), path.name, tasks.values())


def add_files(
    directory: Path, files: Sequence[tuple[Path, Format]], labels: Labels, jobs: int
) -> Iterator[tuple[Path, Format, Added | None]]:
    """Yield files as they finish, one process per file; the first unreadable file raises."""
    if jobs == 1 or len(files) < 2:
        for path, kind in files:
            yield path, kind, add_file(directory, path, kind, labels)
        return
    pool = Pool(LIMITS, min(jobs, len(files)), INHERITED)

    def work(file: tuple[Path, Format]) -> dict[str, Any] | None:
        added = add_file(directory, *file, labels)
        return None if added is None else asdict(added)

    for done in pool.each(files, work):
        if done.death is None:
            yield *done.item, None if done.answer is None else _added(done.answer)
        elif done.death.ending is Ending.EXCEPTION:
            raise ReadError(Raised(done.death).message)
        else:
            raise ReadError(f"{done.item[0]} cannot be read ({done.death}); try --jobs 1")


def _added(tree: dict[str, Any]) -> Added:
    """Return a process's counts, sent as JSON: readers of untrusted files send no pickles."""
    examples = tuple((Place(**place), Damage(**damage)) for place, damage in tree["examples"])
    return Added(tree["programs"], tree["damaged"], examples)
