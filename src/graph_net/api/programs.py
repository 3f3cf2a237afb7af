"""Programs of tasks: schedules with their measured times."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.printable import count_phrase, html_table

if TYPE_CHECKING:
    import pandas as pd

    from graph_net.programs.collection.subgraphs import Occurrence
    from graph_net.programs.view.overview import TaskSummary
    from graph_net.programs.view.readable_task import Listing
    from graph_net.programs.view.show import TaskView

DATA_SET = "dataset/programs"
"""Where a checkout has the programs that come with GraphNet, a directory per platform."""
SHOWN = 10
"""Tasks that a notebook lists."""
SORTS = {
    "time": ("importance", True),
    "weight": ("weight", True),
    "kernel": ("name", False),
    "flops": ("flops", True),
    "programs": ("programs", True),
    "failed": ("failed", True),
    "best": ("best", False),
    "median": ("median", False),
    "spread": ("spread", True),
}
"""The attribute that tasks are sorted by, and whether the largest comes first."""


@dataclass(frozen=True)
class TaskDetails:
    """A task, the graphs that contain its subgraph, and its best and typical program as code."""

    view: TaskView
    subgraphs: list[Occurrence]

    @cached_property
    def listing(self) -> Listing:
        """The code; TVM's takes seconds to load."""
        from graph_net.programs.view.readable_task import listings

        return next(listings([self.view]))

    def as_json(self, code: bool = True) -> dict[str, Any]:
        """Return it as JSON, without the code on request."""
        from graph_net.programs.view.histogram import histogram

        view = self.view
        tree = {
            **summary_json(view.summary),
            "noise": view.noise,
            "repeats": view.repeats,
            "histogram": asdict(histogram(view.costs)),
            "failures": [asdict(failure) for failure in view.failures],
            "subgraphs": [asdict(graph) for graph in self.subgraphs],
            "best_program": view.best and asdict(view.best),
            "typical_program": view.typical and asdict(view.typical),
        }
        return {**tree, "code": asdict(self.listing)} if code else tree


def summary_json(task: TaskSummary) -> dict[str, Any]:
    """Return a task and the times of its programs as JSON."""
    return {**asdict(task), "weight": task.weight, "spread": task.spread}


class ProgramSet:
    """The programs of a directory of records; modules and schedules are read, never run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __len__(self) -> int:
        ((count,),) = self.query("SELECT count(*) FROM programs WHERE NOT again")[1]
        return int(count)

    def tasks(self, sort: str = "time") -> list[TaskSummary]:
        """Return every task with the times of its programs, in an order of ``SORTS``."""
        from graph_net.programs.view.overview import summaries, tables

        with tables(self.path) as connection:
            tasks = summaries(connection)
        key, descending = SORTS[sort]
        ordered = [task for task in tasks if getattr(task, key) is not None]
        ordered.sort(key=lambda task: getattr(task, key), reverse=descending)
        return ordered + [task for task in tasks if getattr(task, key) is None]

    def task(self, name: str) -> TaskView:
        """Return the task with this hash, workload or kernel, or the only one with this prefix."""
        from graph_net.programs.view.find_task import find_task
        from graph_net.programs.view.overview import tables
        from graph_net.programs.view.show import views

        with tables(self.path) as connection:
            (view,) = views(connection, [find_task(connection, name)])
        return view

    def details(self, name: str) -> TaskDetails:
        """Return a task with the graphs that contain it and its code."""
        from graph_net.programs.collection.subgraphs import occurrences, packs_at_hand

        view = self.task(name)
        graphs = occurrences([view.summary], packs_at_hand()).get(view.summary.task, [])
        return TaskDetails(view, graphs)

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

    if Path(source).is_dir():
        return ProgramSet(source)
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
