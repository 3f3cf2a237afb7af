"""A pack given the values its models would begin with: recipes change, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from corpus.some_graphs import some_graph
from graph_net.capture.initial_values import OPTION
from graph_net.corpus.columns import COLUMNS, row_of
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.corpus.revalue import revalue, revalue_graph
from graph_net.graph import Constant, Graph, Normal, Recipe


def as_captured(number: int) -> Graph:
    graph = some_graph(number)
    inputs = (graph.inputs[0], replace(graph.inputs[1], original="w"))
    return replace(graph, inputs=inputs)


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    """Five graphs in two parts."""
    with PackWriter(tmp_path / "pack") as writer:
        for number in range(5):
            writer.add(f"graph-{number}", as_captured(number))
            if number == 2:
                writer.flush()
    return Pack(tmp_path / "pack")


def heard(library: str, model: str) -> Mapping[str, Recipe]:
    return {"w": Constant(2.0)} if (library, model) == ("test", "m3") else {}


def weights(path: Path) -> list[Recipe]:
    return [graph.inputs[1].recipe for _, graph in Pack(path).graphs()]


def test_only_recipes_change(pack: Pack, tmp_path: Path) -> None:
    list(revalue(pack, tmp_path / "new", heard))
    new = Pack(tmp_path / "new")
    assert new.rows(COLUMNS).equals(pack.rows(COLUMNS))
    assert weights(new.path) == [*[Normal(0.0, 0.1)] * 3, Constant(2.0), Normal(0.0, 0.1)]
    assert [part.name for part in new.parts] == [part.name for part in pack.parts]
    assert pq.read_schema(new.parts[0]).equals(pq.read_schema(pack.parts[0]), check_metadata=True)


def test_graphs_are_counted_by_where_their_values_come_from(pack: Pack, tmp_path: Path) -> None:
    first, second = revalue(pack, tmp_path / "new", heard)
    assert (dict(first), dict(second)) == ({"role": 3}, {"model": 1, "role": 1})


def test_parts_that_are_there_are_passed_over(pack: Pack, tmp_path: Path) -> None:
    next(revalue(pack, tmp_path / "new", heard))
    assert [dict(found) for found in revalue(pack, tmp_path / "new", heard)] == [
        {"model": 1, "role": 1}
    ]


def test_what_is_heard_later_replaces_what_went_by_role() -> None:
    by_role = revalue_graph(as_captured(3), lambda library, model: {})
    assert by_role.provenance.option(OPTION) == "role"
    assert revalue_graph(by_role, heard).inputs[1].recipe == Constant(2.0)


def test_columns_are_those_that_the_new_graphs_have(pack: Pack, tmp_path: Path) -> None:
    list(revalue(pack, tmp_path / "new", heard))
    new = Pack(tmp_path / "new")
    rows = [row_of(name, graph) for name, graph in new.graphs()]
    assert [{key: row[key] for key in COLUMNS} for row in rows] == new.rows(COLUMNS).to_pylist()
