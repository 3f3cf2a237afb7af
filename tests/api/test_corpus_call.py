"""Choosing graphs from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import graph_net as gn
from corpus.some_graphs import some_graph
from graph_net.api.choose import chosen_graphs
from graph_net.corpus.pack import PackError, PackWriter


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    with PackWriter(tmp_path / "pack") as writer:
        for size in (3, 4, 5):
            writer.add(f"g{size}", some_graph(size))
    return tmp_path / "pack"


def test_graphs_of_a_pack_are_read_by_name(pack: Path) -> None:
    graphs = gn.corpus(pack)
    assert sorted(graphs) == ["g3", "g4", "g5"]
    assert graphs["g4"].id == some_graph(4).id
    with pytest.raises(KeyError):
        graphs["lunch"]


def test_conditions_add_up(pack: Path) -> None:
    chosen = gn.corpus(pack).where("name > 'g3' -- a comment").where("name < 'g5'")
    assert list(chosen) == ["g4"]
    assert list(chosen.to_pandas()["name"]) == ["g4"]
    assert len(gn.corpus(pack).limit(2)) == 2


def test_a_condition_that_makes_no_sense_is_told(pack: Path) -> None:
    with pytest.raises(PackError, match="lunch"):
        len(gn.corpus(pack).where("lunch = 1"))


def test_the_mini_selection_has_few_graphs_of_the_corpus() -> None:
    mini = gn.corpus().mini()
    assert 10 < len(mini) < 100
    name = next(iter(mini))
    assert gn.load(name).id == mini[name].id


def test_a_graph_of_a_pack_is_loaded_by_place_and_name(pack: Path) -> None:
    assert gn.load(f"{pack}:g5").id == some_graph(5).id


def test_a_sample_directory_is_read(tmp_path: Path) -> None:
    from graph_net.formats.graphnet.write import write_sample

    write_sample(some_graph(3), tmp_path / "sample")
    assert gn.read_sample(tmp_path / "sample").structure == some_graph(3).structure


def test_a_call_takes_a_corpus_a_path_graphs_or_one_graph(pack: Path) -> None:
    one = some_graph(3).with_provenance(library="l", model="m")
    for given, names in (
        (gn.corpus(pack).where("name != 'g4'"), {"g3", "g5"}),
        (str(pack), {"g3", "g4", "g5"}),
        ({"mine": one}, {"mine"}),
        ([one, some_graph(4)], {"l/m", "test/m4"}),
        (one, {"l/m"}),
    ):
        listed, source = chosen_graphs(given)
        assert set(listed) == {subject.name for subject, _ in source} == names


def test_conditions_and_limits_of_a_call_hold_for_a_corpus_too(pack: Path) -> None:
    listed, _ = chosen_graphs(gn.corpus(pack), where="name > 'g3'", limit=1)
    assert listed in (["g4"], ["g5"])
    mini, _ = chosen_graphs(None, mini=True)
    assert sorted(mini) == sorted(gn.corpus().mini())
