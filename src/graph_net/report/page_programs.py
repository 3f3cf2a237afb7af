"""Programs on the page: every task as a row with a small picture, the heaviest with their code.

A module and two programs are thousands of characters, so only tasks in which networks spend most
of their time carry them, packed like raw samples; of all others the page has the numbers.
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
from graph_net.programs.view.overview import TaskSummary, summaries, tables
from graph_net.programs.view.readable_task import Listing, listings
from graph_net.programs.view.show import TaskView, views
from graph_net.report.page_assets import pack_json, round_number

DETAILED = 50
"""Tasks whose code is on the page, unless another number is asked for."""
BINS = 32
OCTAVES = 6.0
"""The small pictures share an axis, from the best of each task to 64 times as long."""
HEIGHTS = "0123456789abcdefghijklmnopqrstuvwxyz"
POINTS = 400
"""Times of a task that are drawn one by one; of more, so many quantiles."""
CODE = 1 << 16
"""Characters of one program."""
_BINS = f"""SELECT task, least(floor(log2(cost / best) * {BINS} / {OCTAVES}), {BINS - 1})::INTEGER
    AS bin, count(*) FROM programs JOIN (SELECT task, min(cost) AS best FROM programs GROUP BY task)
    USING (task) WHERE cost IS NOT NULL AND NOT again GROUP BY ALL"""  # noqa: S608 - fixed numbers


@dataclass(frozen=True)
class PageTask:
    """A task on the page; ``heights`` is its small picture."""

    summary: TaskSummary
    heights: str


@dataclass(frozen=True)
class PagePrograms:
    """All tasks, the heaviest first, and what is packed of the first of them."""

    tasks: tuple[PageTask, ...]
    details: tuple[str, ...]

    @property
    def programs(self) -> int:
        """Of all tasks."""
        return sum(task.summary.programs for task in self.tasks)


def read_programs(
    records: Path, detailed: int = DETAILED, packs: Sequence[Pack] | None = None
) -> PagePrograms:
    """What a directory of records says of programs; no tasks where it has none."""
    if not ProgramStore(records).parts():
        return PagePrograms((), ())
    with tables(records) as connection:
        found = sorted(summaries(connection), key=lambda one: (-one.importance, one.name, one.task))
        counts: dict[str, NDArray[np.int64]] = {}
        for task, place, count in connection.execute(_BINS).fetchall():
            counts.setdefault(task, np.zeros(BINS, np.int64))[place] = count
        heavy = views(connection, [one.task for one in found[:detailed]])
    tasks = tuple(PageTask(one, _heights(counts.get(one.task))) for one in found)
    at_hand = packs_at_hand() if packs is None else packs
    return PagePrograms(tasks, tuple(_details(heavy, at_hand)))


def _heights(counts: NDArray[np.int64] | None) -> str:
    """A character a bin; whatever is there at all is seen."""
    if counts is None:
        return ""
    scaled = np.ceil(counts / counts.max() * (len(HEIGHTS) - 1)).astype(int)
    return "".join(HEIGHTS[height] for height in scaled)


def _details(heavy: list[TaskView], packs: Sequence[Pack]) -> Iterator[str]:
    near = occurrences([view.summary for view in heavy], packs)
    for view, listing in zip(heavy, listings(heavy), strict=True):
        yield pack_json(_detail(view, listing, format_subgraphs(near.get(view.summary.task, []))))


def _detail(view: TaskView, listing: Listing, near: str) -> dict[str, Any]:
    of = view.summary
    return {
        "workload": of.workload[:CODE],
        "target": of.target,
        "structure": of.structure,
        "graph": of.graph,
        "subgraphs": near,
        "networks": list(of.weights.items()),
        "noise": round_number(view.noise),
        "repeats": view.repeats,
        "costs": [round_number(cost) for cost in _thinned(view.costs).tolist()],
        "failures": [asdict(one) for one in view.failures],
        "note": listing.note,
        "computation": listing.computation[:CODE],
        "programs": [
            {
                "name": name,
                "cost": round_number(chosen.cost),
                "costs": [round_number(cost) for cost in chosen.costs[:64]],
                "code": code.program[:CODE],
                "steps": code.steps[:CODE],
            }
            for name, chosen, code in (
                ("best", view.best, listing.best),
                ("typical", view.typical, listing.typical),
            )
            if chosen is not None and (name == "best" or chosen != view.best)
        ],
    }


def _thinned(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sorted times, at most so many of them: the ends, and evenly between."""
    if len(costs) <= POINTS:
        return costs
    places = np.linspace(0, len(costs) - 1, POINTS).round().astype(int)
    return np.take(costs, places)


def programs_data(found: PagePrograms) -> dict[str, Any]:
    """The columns that the program of the page reads."""
    tasks = [task.summary for task in found.tasks]
    return {
        "octaves": OCTAVES,
        "detailed": len(found.details),
        "task": [one.task for one in tasks],
        "name": [one.name for one in tasks],
        "format": [one.format for one in tasks],
        "device": [one.device for one in tasks],
        "networks": [_named(one) for one in tasks],
        "weight": [one.weight if one.weights else None for one in tasks],
        "flops": [round_number(one.flops) if one.flops else None for one in tasks],
        "programs": [one.programs for one in tasks],
        "failed": [one.failed for one in tasks],
        "best": [round_number(one.best) for one in tasks],
        "median": [round_number(one.median) for one in tasks],
        "worst": [round_number(one.worst) for one in tasks],
        "heights": [task.heights for task in found.tasks],
    }


def _named(of: TaskSummary) -> str:
    """The first network, and how many others there are."""
    names = list(of.weights)
    more = f" + {len(names) - 1}" if len(names) > 1 else ""
    return f"{names[0]}{more}" if names else ""
