"""Which layouts are measured, and when."""

from __future__ import annotations

from configs.layouts.layout_graphs import images_graph
from graph_net.configs.layouts.draws import SearchKind, draw_layouts, uniform_layouts
from graph_net.configs.layouts.layout_config import default_layout, layout_text, read_layout
from graph_net.configs.layouts.layout_journal import GraphOutcomes
from graph_net.configs.layouts.plan import (
    APART,
    LayoutsWanted,
    PendingLayout,
    is_repeated,
    pending_layouts,
)
from graph_net.configs.layouts.sites import find_sites

SITES = find_sites(images_graph())
WANTED = LayoutsWanted(per_graph=12, turn=4, repeated=0)


def _measure(outcomes: GraphOutcomes, layouts: list[PendingLayout]) -> None:
    for number, layout in enumerate(layouts):
        extra = {"turn": layout.turn, "control": [1.0], "again": layout.again}
        outcomes.add(layout.schedule, [1.0 + number], extra)


def test_draws_are_distinct_and_the_same_for_a_seed() -> None:
    first = draw_layouts(SITES, 30, set(), [], 7)
    assert len(set(first)) == 30
    assert first == draw_layouts(SITES, 30, set(), [], 7)
    assert default_layout(SITES) not in first


def test_children_have_the_settings_of_their_parents_but_for_few() -> None:
    parents = uniform_layouts(SITES)
    child = draw_layouts(SITES, 1, set(), parents, 3)[0]
    own = [setting in {parent[place] for parent in parents} for place, setting in enumerate(child)]
    assert own.count(False) <= len(SITES) // 2


def test_a_graph_begins_with_what_a_person_would_try() -> None:
    first = pending_layouts(SITES, 0, WANTED, GraphOutcomes("g"))
    texts = [layout_text(layout) for layout in uniform_layouts(SITES)]
    assert [layout.schedule for layout in first] == texts[:4]


def test_turns_are_random_and_genetic_in_alternation() -> None:
    outcomes, kinds = GraphOutcomes("g"), []
    for number in range(3):
        layouts = pending_layouts(SITES, number, WANTED, outcomes)
        kinds.append({layout.search for layout in layouts})
        _measure(outcomes, layouts)
    assert kinds == [{SearchKind.RANDOM}, {SearchKind.GENETIC}, {SearchKind.RANDOM}]
    assert outcomes.count.total() == len(outcomes.count) == 12


def test_a_turn_that_was_cut_off_is_completed_and_not_repeated() -> None:
    outcomes = GraphOutcomes("g")
    _measure(outcomes, pending_layouts(SITES, 0, WANTED, outcomes)[:3])
    rest = pending_layouts(SITES, 0, WANTED, outcomes)
    assert len(rest) == 1
    assert rest[0].schedule not in outcomes.count


def test_one_layout_in_some_is_measured_twice_turns_apart() -> None:
    wanted, outcomes = LayoutsWanted(per_graph=8, turn=4, repeated=2), GraphOutcomes("g")
    for number in range(wanted.turns):
        layouts = pending_layouts(SITES, number, wanted, outcomes)
        for layout in layouts:
            if layout.again:
                assert outcomes.first_turn[layout.schedule] <= number - APART
        _measure(outcomes, layouts)
    twice = {schedule for schedule, count in outcomes.count.items() if count == 2}
    assert twice == {schedule for schedule in outcomes.count if is_repeated(schedule, wanted)}
    assert twice


def test_every_drawn_layout_is_one_of_the_graph() -> None:
    for layout in draw_layouts(SITES, 10, set(), [], 1):
        assert read_layout(layout_text(layout), SITES) == layout
