"""Which layouts of which graphs are measured, and when.

Graphs take turns, so that a part of a collection is an even sample of all of them. Turns are random
and genetic by turns: every second one draws from the best of the turns before. One layout in fifty
is measured twice, turns apart: what the two times differ by is the noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graph_net.configs.layouts.draws import SearchKind, draw_layouts, uniform_layouts
from graph_net.configs.layouts.layout_config import FORMAT, layout_text, read_layout
from graph_net.configs.layouts.layout_journal import GraphOutcomes
from graph_net.configs.layouts.sites import Site
from graph_net.results import Json, Subject, Task, canonical, digest

APART = 2
"""Turns of all graphs between the two measurements of a layout."""


@dataclass(frozen=True)
class LayoutsWanted:
    """How many layouts of a graph, how many of them at a turn, and how each is timed."""

    per_graph: int = 200
    turn: int = 20
    seed: int = 0
    repeated: int = 50
    """One layout in this many is measured twice; 0 for none."""
    repeats: int = 10
    compiler: str = "eager"

    @property
    def turns(self) -> int:
        """How many turns a graph has; in the last ones only second measurements are left."""
        return -(-self.per_graph // self.turn) + (APART if self.repeated else 0)


@dataclass(frozen=True)
class LayoutTask:
    """A graph to collect layouts of."""

    subject: Subject
    graph: bytes

    def named(self, target: str, wanted: LayoutsWanted, sites: Sequence[Site]) -> Task:
        """Return the task as its programs have it."""
        subject = self.subject
        details: dict[str, Json] = {
            "graph": subject.id,
            "structure": subject.structure,
            "category": subject.category,
            "library": subject.library,
            "model": subject.model,
            "compiler": wanted.compiler,
            "config_nodes": [site.node for site in sites],
            "kinds": "".join(site.kind[0] for site in sites),
            "weights": {subject.name: 1},
        }
        workload = f"{subject.id}-{wanted.compiler}"
        return Task(FORMAT, workload, subject.name, target, canonical(details))


@dataclass(frozen=True)
class PendingLayout:
    """A layout to measure."""

    schedule: str
    search: SearchKind
    turn: int
    again: bool = False


def pending_layouts(
    sites: Sequence[Site], number: int, wanted: LayoutsWanted, outcomes: GraphOutcomes
) -> list[PendingLayout]:
    """Return what a turn of a graph measures, without what was measured of it before a kill."""
    again = [
        PendingLayout(schedule, SearchKind.RANDOM, number, again=True)
        for schedule, first in outcomes.first_turn.items()
        if first <= number - APART
        and is_repeated(schedule, wanted)
        and outcomes.count[schedule] < 2
    ]
    missing = min(wanted.turn, wanted.per_graph - number * wanted.turn)
    missing -= outcomes.per_turn[number]
    if missing <= 0:
        return again
    seen = {read_layout(schedule, sites) for schedule in outcomes.first_turn}
    is_genetic = number % 2 == 1 and len(outcomes.ranked) > 1
    search = SearchKind.GENETIC if is_genetic else SearchKind.RANDOM
    drawn = [] if number else [one for one in uniform_layouts(sites) if one not in seen][:missing]
    parents = [read_layout(schedule, sites) for schedule in outcomes.best()] if is_genetic else []
    # The same for all compilers: what they make of the same layouts can be compared.
    graph = outcomes.workload.partition("-")[0]
    seed = int(digest(graph, str(wanted.seed), str(number))[:8], 16)
    drawn += draw_layouts(sites, missing - len(drawn), seen | set(drawn), parents, seed)
    return [PendingLayout(layout_text(one), search, number) for one in drawn] + again


def is_repeated(schedule: str, wanted: LayoutsWanted) -> bool:
    """Return whether a layout is measured twice; the same in every run."""
    return bool(wanted.repeated) and int(digest(schedule)[:8], 16) % wanted.repeated == 0
