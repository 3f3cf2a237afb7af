"""Programs of tasks: schedules with their measured times."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.printable import count_phrase, html_table

if TYPE_CHECKING:
    import pandas as pd

    from graph_net.programs.view.overview import TaskSummary
    from graph_net.programs.view.show import TaskView

DATA_SET = "dataset/programs"
"""Where a checkout has the programs that come with GraphNet, a directory per platform."""
SHOWN = 10
"""Tasks that a notebook lists."""


class ProgramSet:
    """The programs of a directory of records; modules and schedules are read, never run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __len__(self) -> int:
        ((count,),) = self.query("SELECT count(*) FROM programs WHERE NOT again")[1]
        return int(count)

    def tasks(self) -> list[TaskSummary]:
        """Return every task with the times of its programs, the most important first."""
        from graph_net.programs.view.overview import summaries, tables

        with tables(self.path) as connection:
            found = summaries(connection)
        return sorted(found, key=lambda task: -task.importance)

    def task(self, word: str) -> TaskView:
        """Return a task by its hash, workload or kernel, or how one of them begins."""
        from graph_net.programs.view.find_task import find_task
        from graph_net.programs.view.overview import tables
        from graph_net.programs.view.show import views

        with tables(self.path) as connection:
            (view,) = views(connection, [find_task(connection, word)])
        return view

    def query(self, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return column names and rows of a question in SQL to ``programs`` and ``tasks``."""
        from graph_net.api.query import query
        from graph_net.store.records import RecordStore

        return query(RecordStore(self.path), question)

    def to_pandas(self, where: str = "true") -> pd.DataFrame:
        """Return a row per program, those for which a condition in SQL holds."""
        from graph_net.api.frames import data_frame

        columns, rows = self.query(f"SELECT * FROM programs WHERE ({where}\n)")  # noqa: S608
        return data_frame(rows, columns)

    def __repr__(self) -> str:
        tasks = count_phrase(len(self.tasks()), "task")
        return f"<ProgramSet {self.path}: {count_phrase(len(self), 'program')} of {tasks}>"

    def _repr_html_(self) -> str:
        tasks = self.tasks()
        rows = [
            (task.name, task.device, f"{task.programs:,}", _milli(task.best), _milli(task.median))
            for task in tasks[:SHOWN]
        ]
        columns = ("task", "device", "programs", "best", "median")
        return html_table(repr(self), columns, rows, more=len(tasks) - len(rows))


def programs(source: str | Path = "cpu") -> ProgramSet:
    """Return the programs of a directory of records, or of a platform of GraphNet's data set.

    Platforms are directories of ``dataset/programs``: beside a checkout, or in ``$GRAPH_NET_DATA``.
    """
    from graph_net.corpus.shipped import DATA, shipped_data
    from graph_net.results import RecordError

    place = Path(source)
    if place.is_dir():
        return ProgramSet(place)
    shipped = shipped_data(DATA_SET)
    if (shipped / source).is_dir():
        return ProgramSet(shipped / source)
    platforms = ", ".join(sorted(path.name for path in shipped.glob("*/"))) or "none"
    raise RecordError(
        f"{source} is neither a directory nor a platform of {shipped} ({platforms}); set ${DATA} "
        "to a checkout of GraphNet for its data sets"
    )


def _milli(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.4g} ms"
