"""Tasks of the corpus for kernels on a GPU."""

from __future__ import annotations

import pytest

from graph_net.corpus.pack import Pack
from graph_net.corpus.shipped import shipped_corpus
from graph_net.programs.collection.kernel_tasks import (
    HELD_OUT,
    MOST_TASKS,
    NETWORKS,
    find_tasks,
)


def test_the_networks_are_of_all_categories_and_dtypes() -> None:
    rows = Pack(shipped_corpus()).rows(["name", "category"]).to_pylist()
    categories = {row["name"]: row["category"] for row in rows}
    chosen = {categories[network.graph] for network in NETWORKS}
    assert chosen == set(categories.values())
    assert len(chosen) == 6
    assert {network.dtype for network in NETWORKS} == {"float16", "bfloat16", "tf32"}
    assert len({network.name for network in NETWORKS}) == len(NETWORKS) >= 40
    assert {network.name for network in NETWORKS} > HELD_OUT


def test_a_task_that_several_networks_have_is_one() -> None:
    networks = [network for network in NETWORKS if network.graph.startswith("open_clip/ViT")]
    networks += [type(networks[0])(networks[0].graph, networks[0].batch * 2, networks[0].dtype)]
    tasks = find_tasks(Pack(shipped_corpus()), networks)
    named = [network for task in tasks for network in task.weights]
    assert len({task.workload.hash for task in tasks}) == len(tasks)
    assert {network.name for network in networks} == set(named)
    assert max(map(named.count, set(named))) <= MOST_TASKS


def test_a_network_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="no/such is not in"):
        find_tasks(Pack(shipped_corpus()), [type(NETWORKS[0])("no/such", 1, "float16")])
