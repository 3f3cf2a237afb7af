"""Networks over graphs: pruned, folded or cut, they say what the whole says, or learn to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from graph_net.compilers.option import Json
from graph_net.configs.config_graph import ConfigGraph, LayoutConfigs
from graph_net.learn.graph_networks import ConfigNetwork
from graph_net.learn.graph_neural import Gcn, GraphMlp, GraphSage
from graph_net.learn.graph_segments import StaleTable, cut_segments, pool_segments
from graph_net.learn.graph_tensors import graph_tensors, near_nodes
from graph_net.learn.learning_set import LearnError
from graph_net.learn.losses import hinge
from graph_net.learn.rank_metrics import tau_by_task
from graph_net.testing.config_set import config_set, easy_layouts, easy_tiles
from graph_net.testing.cost_model import check_cost_model

QUICK = {"epochs": 12, "width": 8, "rate": 0.02, "configs_of_step": 24}


def test_a_network_keeps_to_the_protocol() -> None:
    check_cost_model(GraphSage, QUICK, config_set([easy_layouts("a"), easy_layouts("b", 1)]))


@pytest.mark.parametrize("more", [{}, {"join": "early"}, {"join": "late"}, {"attention": True}])
@pytest.mark.parametrize("make", [easy_layouts, easy_tiles])
def test_every_way_to_join_learns(make: Callable[..., ConfigGraph], more: dict[str, Json]) -> None:
    data = config_set([make("a", configs=24)])
    model = (Gcn if more else GraphMlp)({**QUICK, **more, "epochs": 30})
    model.fit(data)
    assert tau_by_task(data.programs, model.predict(data)).min() > 0.3


def test_layouts_and_tiles_are_not_mixed_up() -> None:
    model = Gcn({**QUICK, "epochs": 1})
    model.fit(config_set([easy_layouts("a")]))
    with pytest.raises(LearnError, match="has tiles"):
        model.predict(config_set([easy_tiles("t")]))


def network(layers: int = 2, join: str = "once") -> ConfigNetwork:
    torch.manual_seed(0)
    return ConfigNetwork("sage", join, 8, layers, attention=False, tiles=False).eval()


def repeated_blocks() -> ConfigGraph:
    """A graph of twenty copies of one piece that only meet at the end."""
    graph = easy_layouts("g", nodes=60)
    features = graph.nodes.features.copy()
    features[:] = features[0]
    within = [(6 * block + n, 6 * block + n - 1) for block in range(20) for n in range(1, 6)]
    table = replace(graph.nodes, features=features, edges=np.array(within, np.int32))
    return replace(graph, nodes=table)


def codes_of(graph: ConfigGraph) -> torch.Tensor:
    assert isinstance(graph.configs, LayoutConfigs)
    return torch.from_numpy(graph.configs.codes.astype(np.int64))


def test_blocks_that_repeat_are_encoded_once_with_the_same_result() -> None:
    graph = repeated_blocks()
    whole, folded = graph_tensors(graph), graph_tensors(graph, rounds=2)
    assert (whole.size, folded.size) == (120, 6)
    codes = codes_of(graph)
    torch.testing.assert_close(network()(whole, codes), network()(folded, codes))


def test_pruning_keeps_configurable_nodes_and_their_neighbours() -> None:
    graph = easy_layouts("g", nodes=6)
    kept = near_nodes(graph.nodes, np.array([5]), 2)
    assert kept.tolist() == [3, 4, 5, 6, 7]


def test_segments_without_edges_between_them_are_the_whole() -> None:
    graph = repeated_blocks()
    tensors = graph_tensors(graph)
    codes = codes_of(graph)
    made = network(join="early")
    segments = cut_segments(tensors, 30)
    assert [segment.graph.size for segment in segments] == [30] * 4
    torch.testing.assert_close(
        pool_segments(made, segments, codes), made.pool(tensors, codes), rtol=1e-4, atol=1e-4
    )


def test_stale_entries_are_dropped_and_counts_are_not() -> None:
    table = StaleTable(4, 3, 8)
    some = torch.arange(4)
    for segment in range(3):
        table.put(some, segment, torch.ones(4, 3, 8))
    generator = torch.Generator().manual_seed(0)
    rests = torch.stack([table.rest(some, 1, generator) for _ in range(200)])
    assert (rests[:, :, 2] == 2).all()
    assert set(rests[:, :, 0].unique().tolist()) == {0.0, 2.0, 4.0}
    assert rests[:, :, 0].mean().item() == pytest.approx(2.0, abs=0.2)


def test_training_in_segments_learns() -> None:
    data = config_set([easy_layouts("a", nodes=12)])
    model = Gcn({**QUICK, "epochs": 60, "hops": 0, "join": "early", "segment": 8})
    model.fit(data)
    assert tau_by_task(data.programs, model.predict(data))[0] > 0.3


def test_hinge_asks_for_a_margin_of_one() -> None:
    labels, mask = torch.tensor([[1.0, 0.0]]), torch.ones(1, 2, dtype=torch.bool)
    for score, loss in ((2.0, 0.0), (0.5, 0.5), (-1.0, 2.0)):
        assert hinge(torch.tensor([[score, 0.0]]), labels, mask).item() == pytest.approx(loss)
