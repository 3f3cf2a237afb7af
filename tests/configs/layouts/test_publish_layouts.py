"""Collected layouts are published in plain columns and in TpuGraphs' form, and learned from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from configs.layouts.layout_graphs import images_graph
from graph_net.api.layout_examples import read_layout_examples
from graph_net.api.publish_layouts import publish_layouts
from graph_net.configs.config_graph import LayoutConfigs
from graph_net.configs.layouts.draws import draw_layouts
from graph_net.configs.layouts.hand_features import COLUMNS
from graph_net.configs.layouts.layout_config import layout_text
from graph_net.configs.layouts.layout_examples import candidate_layouts
from graph_net.configs.layouts.layout_npz import layout_slots, write_npz
from graph_net.configs.layouts.layout_predictor import (
    BytesMoved,
    learn_layouts,
    read_layouts,
    usable_programs,
)
from graph_net.configs.layouts.layout_splits import side_of
from graph_net.configs.layouts.measured_layouts import by_graph, measured_layouts
from graph_net.configs.layouts.sites import Setting, find_sites
from graph_net.configs.read_npz import read_npz
from graph_net.corpus.pack import PackWriter
from graph_net.results import (
    Config,
    ConfigKind,
    program_to_json,
)

TARGET = "cpu: test"


def test_plain_columns_hold_every_result_and_repeat(published: Path) -> None:
    table = pq.read_table(published / "cpu" / "programs-plain.parquet").to_pylist()
    assert len(table) == 122
    assert {len(row["costs"] or ()) for row in table} == {0, 3}
    assert {row["kernel"] for row in table} == {"test/images", "test/sequence"}
    assert all(json.loads(row["extra"])["copies"] is not None for row in table)


def test_a_published_platform_is_a_source_and_what_is_there_is_not_added_again(
    journal: Path, published: Path, tmp_path: Path
) -> None:
    pack, output = str(journal.parent / "pack"), tmp_path / "published"
    lines = [program_to_json(program) for program in read_layouts(journal)]
    first, more = tmp_path / "first.jsonl", tmp_path / "more.jsonl"
    first.write_text("\n".join([*lines[:70], ""]))
    more.write_text("\n".join([*lines[60:], ""]))
    publish_layouts({"cpu": [first]}, output, pack)
    for _ in range(2):
        publish_layouts({"cpu": [output / "cpu", more]}, output, pack)
        for file in filter(Path.is_file, published.rglob("*")):
            assert (output / file.relative_to(published)).read_bytes() == file.read_bytes()


def test_npz_files_are_read_as_tpugraphs_own(published: Path) -> None:
    files = sorted((published / "npz" / "layout" / "cpu").rglob("*.npz"))
    assert len(files) == 4
    graph = images_graph()
    side = side_of("graph", graph.id)
    path = published / "npz" / "layout" / "cpu" / "random" / side / "test.images.npz"
    read = read_npz(path)
    assert isinstance(read.configs, LayoutConfigs)
    assert len(read.nodes) == len(graph.inputs) + len(graph.nodes)
    sites = find_sites(graph)
    assert [node - len(graph.inputs) for node in read.configs.nodes] == [s.node for s in sites]
    assert read.has_labels
    assert len(read.run_ns) == 40
    assert read.run_ns.min() >= 900_000


def test_an_order_that_is_not_set_is_minus_one() -> None:
    slots = layout_slots((Setting(input=(1, 0)), Setting()))
    assert slots.shape == (2, 18)
    assert slots[0].tolist() == [-1] * 6 + [1, 0] + [-1] * 10
    assert (slots[1] == -1).all()


def test_an_npz_of_the_same_arrays_has_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_npz(tmp_path / name, {"x": np.arange(5)})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_graph_is_on_one_side_by_id_and_a_family_on_one_side(published: Path) -> None:
    splits = json.loads((published / "splits.json").read_text("utf-8"))
    for rule in ("graph", "family"):
        names = [name for side in splits["sides"][rule].values() for name in side]
        assert sorted(names) == ["test/images", "test/sequence"]


def test_the_card_counts_what_is_there(published: Path) -> None:
    card = (published / "README.md").read_text("utf-8")
    assert "122 measured layouts" in card
    assert "results by search: genetic 40, random 82;" in card
    assert "audio 1, computer_vision 1" in card


def test_without_their_graphs_trees_learn_from_hand_features(journal: Path) -> None:
    groups = by_graph(usable_programs(read_layouts(journal), TARGET))
    learned = learn_layouts([measured_layouts(group, None) for group in groups.values()])
    assert learned.name == "LightGBM, relative labels, on 120 layouts of 2 graphs"
    sites = find_sites(images_graph())
    kinds = "".join(site.kind[0] for site in sites)
    text = layout_text(draw_layouts(sites, 1, set(), [], 5)[0])
    copies = [{"explicit": [1, size]} for size in (100, 1_000_000)]
    layouts = candidate_layouts([text, text], kinds, copies, 1e-3)
    few, many = learned.scores(layouts)
    assert few < many
    assert BytesMoved().scores(layouts) == [100.0, 1_000_000.0]
    assert layouts.hand.shape == (2, len(COLUMNS))


def test_a_model_needs_enough_layouts_of_the_device(journal: Path) -> None:
    with pytest.raises(ValueError, match="this has 0 layouts; 100 are learned from"):
        learn_layouts([], "this")
    assert not usable_programs(read_layouts(journal), "cuda: x")
    assert not usable_programs(read_layouts(journal), compiler="inductor")


def test_programs_that_are_no_layouts_are_not_learned_from(journal: Path) -> None:
    layouts = list(read_layouts(journal))
    other, schedule = "triton", Config(ConfigKind.SCHEDULE, "triton", options={"schedule": "{}"})
    strange = [
        replace(one, task=replace(one.task, format=other), config=schedule) for one in layouts
    ]
    assert usable_programs([*strange, *layouts]) == usable_programs(layouts)


def test_a_journal_and_what_was_published_of_it_are_the_same_examples(
    journal: Path, published: Path
) -> None:
    pack = str(journal.parent / "pack")
    first, second = (
        read_layout_examples(path, TARGET, pack=pack, jobs=1)
        for path in (journal, published / "cpu")
    )
    assert [one.name for one in first] == [one.name for one in second]
    assert all(len(one) == 60 for one in first)
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one.labels, other.labels)
        assert np.array_equal(one.calls.rows, other.calls.rows)
        assert len(one.calls.count)
    name = first[0].graph
    assert all(one.graph != name for one in read_layout_examples(journal, "", name, pack, 1))


def test_layouts_of_a_graph_that_is_not_in_the_pack_have_no_calls(
    journal: Path, tmp_path: Path
) -> None:
    with PackWriter(tmp_path / "pack") as pack:
        pack.add("test/images", images_graph())
    found = read_layout_examples(journal, pack=str(tmp_path / "pack"), jobs=1)
    assert {one.name: bool(len(one.calls.count)) for one in found} == {
        "test/images": True,
        "test/sequence": False,
    }
