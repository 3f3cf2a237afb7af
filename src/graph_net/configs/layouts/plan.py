"""Which layouts of which graphs are measured, and when.

Graphs take turns, so that a part of a collection is an even sample of all of them. Random and
genetic turns alternate; a genetic turn draws from the best of the earlier turns. One layout in
fifty is measured twice, some turns apart: the difference of the two times is the noise. Where a
graph comes with layouts that another collection measured, these are taken and none is drawn.
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
"""Rounds of turns between the two measurements of a layout."""


@dataclass(frozen=True)
class LayoutsWanted:
    """How many layouts per graph and per turn, and how each is timed."""

    per_graph: int = 200
    turn: int = 20
    seed: int = 0
    repeated: int = 50
    """One layout in this many is measured twice; 0 for none."""
    repeats: int = 10
    compiler: str = "eager"

    @property
    def turns(self) -> int:
        """Turns per graph; the last ones have second measurements only."""
        return -(-self.per_graph // self.turn) + (APART if self.repeated else 0)


@dataclass(frozen=True)
class GivenLayout:
    """A layout that another collection has measured, and how it was found there."""

    schedule: str
    search: SearchKind


@dataclass(frozen=True)
class LayoutTask:
    """A graph to collect layouts of; ``to_measure`` are the layouts, if they are not drawn."""

    subject: Subject
    graph: bytes
    to_measure: tuple[GivenLayout, ...] = ()

    def named(self, target: str, wanted: LayoutsWanted, sites: Sequence[Site]) -> Task:
        """Return the Task that the graph's programs refer to."""
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
    sites: Sequence[Site],
    number: int,
    wanted: LayoutsWanted,
    outcomes: GraphOutcomes,
    to_measure: Sequence[GivenLayout] = (),
) -> list[PendingLayout]:
    """Return the layouts of a graph's turn, without those measured before a kill."""
    again = [
        PendingLayout(schedule, SearchKind.RANDOM, number, again=True)
        for schedule, first in outcomes.first_turn.items()
        if first <= number - APART
        and is_repeated(schedule, wanted)
        and outcomes.count[schedule] < 2
    ]
    if to_measure:
        place = number * wanted.turn
        rest = to_measure[place : min(place + wanted.turn, wanted.per_graph)]
        taken = [one for one in rest if not outcomes.count[one.schedule]]
        return [PendingLayout(one.schedule, one.search, number) for one in taken] + again
    missing = min(wanted.turn, wanted.per_graph - number * wanted.turn)
    missing -= outcomes.per_turn[number]
    if missing <= 0:
        return again
    seen = {read_layout(schedule, sites) for schedule in outcomes.first_turn}
    is_genetic = number % 2 == 1 and len(outcomes.ranked) > 1
    search = SearchKind.GENETIC if is_genetic else SearchKind.RANDOM
    drawn = [] if number else [one for one in uniform_layouts(sites) if one not in seen][:missing]
    parents = [read_layout(schedule, sites) for schedule in outcomes.best()] if is_genetic else []
    # Equal for all compilers, so that they can be compared on the same layouts.
    graph = outcomes.workload.partition("-")[0]
    seed = int(digest(graph, str(wanted.seed), str(number))[:8], 16)
    drawn += draw_layouts(sites, missing - len(drawn), seen | set(drawn), parents, seed)
    return [PendingLayout(layout_text(one), search, number) for one in drawn] + again


def is_repeated(schedule: str, wanted: LayoutsWanted) -> bool:
    """Return whether a layout is measured twice; the answer is the same in every run."""
    return bool(wanted.repeated) and int(digest(schedule)[:8], 16) % wanted.repeated == 0
