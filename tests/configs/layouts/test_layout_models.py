"""Models of layouts: what they learn from times of whole graphs, and how they rank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from configs.layouts.layout_graphs import images_graph, sequence_graph
from configs.layouts.some_layouts import layouts_of
from graph_net.configs.layouts.call_features import COLUMNS, WORK, Floats
from graph_net.configs.layouts.call_trees import fit_call_trees, sum_calls
from graph_net.configs.layouts.layout_examples import (
    NO_CALLS,
    GraphLayouts,
    count_calls,
)
from graph_net.configs.layouts.layout_models import MODELS, RankBlend, fit_best, ranks_of
from graph_net.configs.layouts.measured_layouts import layouts_from_bytes, layouts_to_bytes
from graph_net.learn.rank_metrics import kendall_tau


@pytest.fixture(scope="module")
def graphs() -> list[GraphLayouts]:
    """Two sets of layouts of each of two graphs."""
    return [
        layouts_of(graph, seed) for graph in (images_graph(), sequence_graph()) for seed in (1, 2)
    ]


def test_costs_of_calls_are_learned_from_times_of_graphs(graphs: list[GraphLayouts]) -> None:
    model = fit_call_trees([graphs[0], graphs[2]], rounds=40)
    for unseen in (graphs[1], graphs[3]):
        start = sum_calls([unseen])
        untrained = kendall_tau(start.total(np.ones(len(start.features))), unseen.labels)
        tau = kendall_tau(model.predict(unseen), unseen.labels)
        assert tau > 0.9
        assert tau > untrained


def test_every_model_fits_and_ranks(graphs: list[GraphLayouts]) -> None:
    for name, fit in MODELS.items():
        model = fit(graphs[:3], 0)
        assert model.name == name
        assert np.isfinite(model.predict(graphs[3])).all()
        nothing = replace(graphs[3], hand=graphs[3].hand[:0], seconds=np.zeros(0), calls=NO_CALLS)
        assert len(model.predict(nothing)) == 0


def test_the_best_model_needs_no_calls_where_none_is_known(graphs: list[GraphLayouts]) -> None:
    bare = [replace(one, calls=NO_CALLS) for one in graphs]
    assert fit_best(bare).name == "LightGBM, relative labels"
    assert fit_best(graphs).name == "sums over calls and LightGBM"


def test_calls_are_counted_as_differences_from_the_original() -> None:
    rows = np.zeros((3, len(COLUMNS) + len(WORK)))
    counts = count_calls(rows, [0, 1, 1], [[0, 1, 1], [0, 2]])
    assert counts.layout.tolist() == [1, 1]
    assert counts.call.tolist() == [1, 2]
    assert counts.count.tolist() == [-2.0, 1.0]


def test_layouts_leave_a_process_as_bytes(graphs: list[GraphLayouts]) -> None:
    one = replace(graphs[0], again=(("[]", 0.5),))
    back = layouts_from_bytes(layouts_to_bytes(one))
    assert np.array_equal(back.calls.rows, one.calls.rows)
    assert np.array_equal(back.labels, one.labels)
    assert (back.graph, back.device, back.schedules) == (one.graph, "cpu", one.schedules)
    assert back.again == one.again


def test_equal_values_share_a_rank() -> None:
    assert ranks_of(np.array([3.0, 1.0, 1.0, 9.0])).tolist() == pytest.approx(
        [2 / 3, 1 / 6, 1 / 6, 1]
    )
    assert len(ranks_of(np.zeros(0))) == 0


class _Fixed:
    name = "fixed"

    def __init__(self, *values: float) -> None:
        self.values = np.array(values)

    def predict(self, layouts: GraphLayouts) -> Floats:
        """Return the values."""
        return self.values


def test_a_blend_is_the_weighted_mean_of_ranks(graphs: list[GraphLayouts]) -> None:
    three = replace(graphs[0], hand=graphs[0].hand[:3])
    blend = RankBlend([(_Fixed(1.0, 5.0, 2.0), 2.0), (_Fixed(9.0, 0.0, 1.0), 1.0)], "two")
    assert blend.predict(three).tolist() == pytest.approx([1 / 3, 2 / 3, 1 / 2])
