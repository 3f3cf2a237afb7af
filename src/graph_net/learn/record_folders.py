"""The stores of a source, their platforms and their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from graph_net.programs.dataset.dataset import PATTERNS, platforms
from graph_net.programs.dataset.splits import SPLITS
from graph_net.programs.formats import ReadError
from graph_net.programs.view.overview import TaskSummary, summaries, tables


def record_folders(source: Path) -> dict[str, Path]:
    """Return the stores of a data set by platform; or the given store.

    A given store has no name unless it is a platform of a data set.
    """
    if any(source.glob(PATTERNS["programs"])):
        return {source.name if (source.parent / SPLITS).is_file() else "": source}
    if not source.is_dir():
        raise ReadError(f"{source} is not a directory of records or a data set")
    return platforms(source)


def platform_of(folder: str, task: TaskSummary) -> str:
    """Return the platform of a task: the data set's, else its device, else its target."""
    return folder or task.device or task.target.split(" ")[0]


def read_tasks(path: Path) -> list[TaskSummary]:
    """Return the tasks of a store."""
    with tables(path) as connection:
        return summaries(connection)


def tasks_by_platform(source: Path) -> Mapping[str, list[TaskSummary]]:
    """Return the tasks of each platform of a source, from which splits are made."""
    found: dict[str, list[TaskSummary]] = {}
    for name, path in record_folders(source).items():
        for task in read_tasks(path):
            found.setdefault(platform_of(name, task), []).append(task)
    return found
