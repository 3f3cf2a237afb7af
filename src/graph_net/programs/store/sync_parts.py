"""Copy tables of programs from another directory, part by part.

A part holds the programs of one file or one collection, and is named after it. The same name
elsewhere is the same file, or an earlier state of the same collection, which only grows.
"""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile

import pyarrow.parquet as pq

from graph_net.programs.store.plain_format import PLAIN
from graph_net.programs.store.program_store import ProgramStore
from graph_net.programs.store.task_table import TaskStore
from graph_net.programs.store.workload_table import WorkloadStore
from graph_net.store.atomic import replacing

PATTERNS = ("programs-*.parquet", "tasks-*.parquet", "workloads-*.parquet")
"""Patterns of a store's files."""


def add_parts(target: Path, source: Path) -> int:
    """Copy parts that ``target`` lacks or has with fewer rows; return how many programs came.

    Published parts (plain columns) have one name in all data sets and are not copied.
    """
    came = 0
    for part in ProgramStore(source).parts():
        came += _copy_part(part, target / part.name)
    for part in (*TaskStore(source).parts(), *WorkloadStore(source).parts()):
        _copy_part(part, target / part.name)
    return came


def has_published(source: Path) -> bool:
    """Return whether a directory holds a published set."""
    return (source / f"{PLAIN.prefix}.parquet").is_file()


def _copy_part(part: Path, target: Path) -> int:
    """Copy a part unless the target's has as many rows; return how many rows were added."""
    if part.name.endswith("-plain.parquet"):
        return 0
    rows = _count_rows(part)
    known = _count_rows(target) if target.is_file() else 0
    if rows <= known:
        return 0
    with replacing(target) as aside:
        copyfile(part, aside)
    return rows - known


def _count_rows(part: Path) -> int:
    return int(pq.read_metadata(part).num_rows)
