"""Other verbs on nodes give what they give on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from capture.test_collect import MadeUpZoo
from cluster.doubling_study import Doubling
from cluster.ray_nodes import RayNodes
from graph_net.api.features import make_features
from graph_net.api.subgraphs import decompose
from graph_net.api.validate import validate
from graph_net.capture.collect import collect
from graph_net.capture.worker import Spool
from graph_net.cluster.connection import Cluster
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.isolate import Limits, Pool
from graph_net.learn.studies.run import StudyJournal, run_study
from graph_net.learn.studies.study import StudyData
from graph_net.programs.features.feature_kinds import GRAPH
from graph_net.programs.features.feature_store import FeatureStore
from measure.asking import small_graph


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verbs") / "pack"
    with PackWriter(path) as writer:
        for size in (2, 3):
            writer.add(f"small{size}", small_graph(size))
    return path


def test_models_are_captured_on_nodes(nodes: RayNodes, cluster: Cluster, tmp_path: Path) -> None:
    nodes.keep(1)
    zoo, limits = MadeUpZoo(), Limits.of(300, 12.0)
    wanted = [entry for entry in zoo.entries() if entry.name in ("linear", "relu", "dies")]
    spools = {"here": Spool(tmp_path / "here"), "there": Spool(tmp_path / "there")}
    makers = {"here": Pool, "there": cluster.pool}
    found = {
        place: {
            result.entry.name: (result.ok, [graph.id for graph in spools[place].graphs(result)])
            if result.ok
            else (result.ok, [])
            for result in collect(zoo, wanted, spools[place], 1, limits, makers[place])
        }
        for place in spools
    }
    assert found["there"] == found["here"]
    assert found["there"]["linear"][0]
    assert not found["there"]["dies"][0]


def test_graphs_are_validated_and_cut_and_described_on_nodes(
    nodes: RayNodes, cluster: Cluster, pack: Path, tmp_path: Path
) -> None:
    nodes.keep(1)
    verdicts = validate(str(pack), cluster=cluster, progress=False)
    assert [verdict.name for verdict in verdicts if verdict.ok] == ["small2", "small3"]
    pieces = {}
    for place, where in (("here", None), ("there", cluster)):
        output = tmp_path / place
        decompose(
            Pack(pack), output, "sole_op,typical", work=tmp_path / f"work-{place}", jobs=1,
            cluster=where, progress=False,
        )  # fmt: skip
        pieces[place] = sorted(map(str, Pack(output).rows(["kind", "id", "structure"]).to_pylist()))
    assert pieces["here"]
    assert pieces["there"] == pieces["here"]
    (counts,) = make_features(
        tmp_path, tmp_path / "features", ["graph"], graphs=pack, cluster=cluster, progress=False
    )
    assert (counts.computed, counts.failed.total()) == (2, 0)
    assert FeatureStore(tmp_path / "features").count(GRAPH) == 2


def test_trainings_are_done_on_nodes_and_kept_here(
    nodes: RayNodes, cluster: Cluster, tmp_path: Path
) -> None:
    nodes.keep(1)
    journal = StudyJournal(tmp_path / "doubling.jsonl", "data")
    data = cast(StudyData, None)
    outcome = run_study(Doubling(), data, journal, seeds=range(5), jobs=2, make_pool=cluster.pool)
    assert [cell.result["result"] for cell in outcome.cells] == [0, 2, 4, 8]
    assert ["three is not learned" in why for why in outcome.failures] == [True]
    assert len(StudyJournal(tmp_path / "doubling.jsonl", "data").done) == 4
