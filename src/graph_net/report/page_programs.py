"""Programs on the page: a row with a small histogram per task, code for the heaviest.

A module and two programs are thousands of characters, so only the tasks in which networks spend
most of their time carry them, packed like raw samples; the others have only numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_net.corpus.pack import Pack
from graph_net.programs.collection.subgraphs import format_subgraphs, occurrences, packs_at_hand
from graph_net.programs.store.program_store import ProgramStore
from graph_net.programs.view.find_task import find_task
from graph_net.programs.view.overview import TaskSummary, summaries, tables
from graph_net.programs.view.readable_task import Listing, listings, plain_listing
from graph_net.programs.view.show import TaskView, views
from graph_net.report.page_assets import pack_json, round_number

DETAILED = 50
"""Tasks whose code is on the page by default."""
BINS = 32
OCTAVES = 6.0
"""The range of the small histograms, from the best of each task to 64 times as long."""
HEIGHTS = "0123456789abcdefghijklmnopqrstuvwxyz"
POINTS = 400
"""Times of a task that are drawn; of more, this many quantiles."""
CODE = 1 << 16
"""Characters of one program."""
_BINS = f"""SELECT task, least(floor(log2(cost / best) * {BINS} / {OCTAVES}), {BINS - 1})::INTEGER
    AS bin, count(*) FROM programs JOIN (SELECT task, min(cost) AS best FROM programs GROUP BY task)
    USING (task) WHERE cost IS NOT NULL AND NOT again GROUP BY ALL"""  # noqa: S608 - fixed numbers


@dataclass(frozen=True)
class PageTask:
    """A task on the page; ``heights`` is its small histogram."""

    summary: TaskSummary
    heights: str


@dataclass(frozen=True)
class PagePrograms:
    """All tasks, the heaviest first, and the packed details of the first of them."""

    tasks: tuple[PageTask, ...]
    details: tuple[str, ...]

    @property
    def programs(self) -> int:
        """The number of programs of all tasks."""
        return sum(task.summary.programs for task in self.tasks)


def read_programs(
    records: Path, detailed: int = DETAILED, packs: Sequence[Pack] | None = None
) -> PagePrograms:
    """Read the programs of a directory of records; no tasks if it has none."""
    if not ProgramStore(records).parts():
        return PagePrograms((), ())
    with tables(records) as connection:
        summary = sorted(
            summaries(connection), key=lambda task: (-task.importance, task.name, task.task)
        )
        counts: dict[str, NDArray[np.int64]] = {}
        for task, bin_, count in connection.execute(_BINS).fetchall():
            counts.setdefault(task, np.zeros(BINS, np.int64))[bin_] = count
        heavy = views(connection, [task.task for task in summary[:detailed]])
    tasks = tuple(PageTask(task, _heights(counts.get(task.task))) for task in summary)
    at_hand = packs_at_hand() if packs is None else packs
    return PagePrograms(tasks, tuple(_details(heavy, at_hand)))


def read_task(records: Path, task: str, code: bool = True) -> PagePrograms:
    """Read one task of a directory of records; raise ReadError without it.

    Without ``code`` no compiler is loaded, which takes seconds, and no pack is searched.
    """
    with tables(records) as connection:
        found = views(connection, [find_task(connection, task)])
        bins = connection.execute(_BINS).fetchall()
    counts = np.zeros(BINS, np.int64)
    for name, bin_, count in bins:
        if name == found[0].summary.task:
            counts[bin_] = count
    heights = _heights(counts if counts.any() else None)
    tasks = (PageTask(found[0].summary, heights),)
    if code:
        return PagePrograms(tasks, tuple(_details(found, packs_at_hand())))
    return PagePrograms(tasks, (pack_json(_detail(found[0], plain_listing(found[0]), "")),))


def _heights(counts: NDArray[np.int64] | None) -> str:
    """Return a character per bin; a bin that is not empty is visible."""
    if counts is None:
        return ""
    scaled = np.ceil(counts / counts.max() * (len(HEIGHTS) - 1)).astype(int)
    return "".join(HEIGHTS[height] for height in scaled)


def _details(heavy: list[TaskView], packs: Sequence[Pack]) -> Iterator[str]:
    graphs = occurrences([view.summary for view in heavy], packs)
    for view, listing in zip(heavy, listings(heavy), strict=True):
        yield pack_json(_detail(view, listing, format_subgraphs(graphs.get(view.summary.task, []))))


def _detail(view: TaskView, listing: Listing, subgraphs: str) -> dict[str, Any]:
    task = view.summary
    return {
        "workload": task.workload[:CODE],
        "target": task.target,
        "structure": task.structure,
        "graph": task.graph,
        "subgraphs": subgraphs,
        "networks": list(task.weights.items()),
        "noise": round_number(view.noise),
        "repeats": view.repeats,
        "costs": [round_number(cost) for cost in _thin(view.costs).tolist()],
        "failures": [asdict(failure) for failure in view.failures],
        "note": listing.note,
        "computation": listing.computation[:CODE],
        "programs": [
            {
                "name": name,
                "cost": round_number(program.cost),
                "costs": [round_number(cost) for cost in program.costs[:64]],
                "code": code.program[:CODE],
                "steps": code.steps[:CODE],
            }
            for name, program, code in (
                ("best", view.best, listing.best),
                ("typical", view.typical, listing.typical),
            )
            if program is not None and (name == "best" or program != view.best)
        ],
    }


def _thin(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return at most ``POINTS`` of the sorted times: the ends, and evenly between."""
    if len(costs) <= POINTS:
        return costs
    positions = np.linspace(0, len(costs) - 1, POINTS).round().astype(int)
    return np.take(costs, positions)


def programs_data(programs: PagePrograms) -> dict[str, Any]:
    """Return the columns that the program of the page reads."""
    tasks = [task.summary for task in programs.tasks]
    return {
        "octaves": OCTAVES,
        "detailed": len(programs.details),
        "task": [task.task for task in tasks],
        "name": [task.name for task in tasks],
        "format": [task.format for task in tasks],
        "device": [task.device for task in tasks],
        "networks": [_networks(task) for task in tasks],
        "weight": [task.weight if task.weights else None for task in tasks],
        "flops": [round_number(task.flops) if task.flops else None for task in tasks],
        "programs": [task.programs for task in tasks],
        "failed": [task.failed for task in tasks],
        "best": [round_number(task.best) for task in tasks],
        "median": [round_number(task.median) for task in tasks],
        "worst": [round_number(task.worst) for task in tasks],
        "heights": [task.heights for task in programs.tasks],
    }


def _networks(task: TaskSummary) -> str:
    """Return the first network of a task, and the number of the others."""
    names = list(task.weights)
    more = f" + {len(names) - 1}" if len(names) > 1 else ""
    return f"{names[0]}{more}" if names else ""
