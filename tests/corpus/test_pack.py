"""Packs: what is written comes back, and questions are answered without reading a graph."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus.some_graphs import some_graph
from graph_net.corpus import pack as pack_module
from graph_net.corpus.columns import COLUMNS, SCHEMA, row_of
from graph_net.corpus.pack import Pack, PackError, PackWriter, is_pack
from graph_net.corpus.query import select
from graph_net.graph import Graph, GraphError, GraphLimits


def written(path: Path, count: int = 5) -> dict[str, Graph]:
    """A pack of so many graphs, and what is in it."""
    graphs = {f"model-{number}": some_graph(number) for number in range(count)}
    with PackWriter(path) as writer:
        for name, graph in graphs.items():
            writer.add(name, graph)
    return graphs


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    graphs = written(tmp_path / "pack")
    pack = Pack(tmp_path / "pack")
    assert len(pack) == 5
    assert pack.names() == list(graphs)
    assert dict(pack.graphs()) == graphs
    assert {name: pack.graph(name) for name in graphs} == graphs


def test_only_the_named_graphs_are_read(tmp_path: Path) -> None:
    graphs = written(tmp_path / "pack")
    chosen = ["model-3", "model-1"]
    found = dict(Pack(tmp_path / "pack").graphs(chosen))
    assert found == {name: graphs[name] for name in ("model-1", "model-3")}


def test_one_part_alone_is_a_pack(tmp_path: Path) -> None:
    graphs = written(tmp_path / "pack")
    (part,) = (tmp_path / "pack").iterdir()
    assert is_pack(part)
    assert dict(Pack(part).graphs()) == graphs


def test_many_graphs_take_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "one", 1000)
    assert [file.name for file in (tmp_path / "one").iterdir()] == ["part-00000.parquet"]
    monkeypatch.setattr(pack_module, "PART_GRAPHS", 300)
    graphs = written(tmp_path / "four", 1000)
    assert len(Pack(tmp_path / "four").parts) == 4
    assert Pack(tmp_path / "four").names() == list(graphs)
    monkeypatch.setattr(pack_module, "PART_BYTES", 1)
    written(tmp_path / "ten", 10)
    assert len(Pack(tmp_path / "ten").parts) == 10


def test_the_columns_describe_the_graph(tmp_path: Path) -> None:
    graphs = written(tmp_path / "pack")
    graph = graphs["model-3"]
    (row,) = select(Pack(tmp_path / "pack"), "name = 'model-3'")
    assert row == {
        "name": "model-3",
        "id": graph.id,
        "structure": graph.structure,
        "level": "torch",
        "framework": "torch",
        "framework_version": "",
        "library": "test",
        "model": "m3",
        "category": "nlp",
        "subcategory": "",
        "tags": [],
        "nodes": 4,
        "inputs": 2,
        "symbols": 0,
        "parameters": 6,
        "tensor_bytes": 4 * 4 * 4 + 6 * 2,
        "dtypes": ["float16", "float32"],
        "operators": ["method:abs", "torch.relu", "torch.sigmoid"],
    }
    assert list(row) == list(COLUMNS)
    assert set(SCHEMA.names) - set(COLUMNS) == {"graph"}


# -- questions ----------------------------------------------------------------------------------


def test_conditions_choose_rows(tmp_path: Path) -> None:
    written(tmp_path / "pack", 14)
    pack = Pack(tmp_path / "pack")
    names = [row["name"] for row in select(pack, "category = 'nlp' AND nodes <= 2")]
    assert names == ["model-1", "model-7"]
    having = select(pack, "list_contains(operators, 'method:abs')", "nodes DESC, name", 3)
    assert [row["name"] for row in having] == ["model-13", "model-6", "model-12"]
    assert len(select(pack)) == 14
    assert select(pack, "false") == []


def test_listing_reads_no_graph(tmp_path: Path) -> None:
    """The pages of the graph column are overwritten: questions are still answered."""
    written(tmp_path / "pack")
    (part,) = (tmp_path / "pack").iterdir()
    group = pq.ParquetFile(part).metadata.row_group(0)
    column = group.column(SCHEMA.names.index("graph"))
    start = column.dictionary_page_offset or column.data_page_offset
    data = bytearray(part.read_bytes())
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    part.write_bytes(data)
    pack = Pack(tmp_path / "pack")
    assert len(select(pack, "nodes > 0")) == len(pack) == len(pack.names()) == 5
    with pytest.raises(PackError, match=r"pack cannot be read: "):
        pack.graph("model-1")
    with pytest.raises(PackError, match=r"pack cannot be read: "):
        list(pack.graphs())


def test_bytes_that_are_no_graph_name_the_graph(tmp_path: Path) -> None:
    row = row_of("good", some_graph(1))
    rows = [row, row | {"name": "bad", "graph": b"no graph"}, row | {"name": "cut"}]
    rows[2]["graph"] = rows[2]["graph"][:-3]
    (tmp_path / "pack").mkdir()
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    pq.write_table(table, tmp_path / "pack" / "part-00000.parquet")
    pack = Pack(tmp_path / "pack")
    assert len(select(pack)) == 3
    assert pack.graph("good") == some_graph(1)
    for name in ("bad", "cut"):
        with pytest.raises(GraphError, match=f"^{name}: "):
            pack.graph(name)
    with pytest.raises(GraphError, match=r"^bad: "):
        list(pack.graphs())


def test_limits_hold_for_graphs_in_packs(tmp_path: Path) -> None:
    written(tmp_path / "pack")
    assert Pack(tmp_path / "pack", GraphLimits(nodes=3)).graph("model-2")
    with pytest.raises(GraphError, match=r"^model-4: "):
        Pack(tmp_path / "pack", GraphLimits(nodes=3)).graph("model-4")


ELSEWHERE = pa.table({"name": ["secret"]})


@pytest.mark.parametrize(
    "where",
    [
        "no_such_column = 1",
        "name = ",
        "name = 'a') --",
        "true); COPY (SELECT 1) TO 'SENTINEL' --",
        "true); CREATE TABLE t(i INT); SELECT 1 AS i --",
        "true) ORDER BY name; SELECT 'other' AS name --",
        "true); ATTACH 'SENTINEL'; --",
        "true); SET enable_external_access = true; --",
        "true); INSTALL httpfs; LOAD httpfs; --",
        "name IN (SELECT content FROM read_text('/etc/passwd'))",
        "name IN (SELECT file FROM glob('/*'))",
        "name IN (SELECT * FROM read_csv('/etc/passwd'))",
        "name IN (SELECT name FROM '/etc/passwd')",
        "name IN (SELECT name FROM 'https://example.com/a.parquet')",
        "name IN (SELECT name FROM ELSEWHERE)",
    ],
)
def test_a_condition_reaches_nothing_outside(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "pack")
    with pytest.raises(PackError, match=r"cannot answer .*Columns: name, id, "):
        select(Pack(tmp_path / "pack"), where)
    assert [file.name for file in tmp_path.iterdir()] == ["pack"]
    assert len(Pack(tmp_path / "pack")) == 5


def test_a_bad_order_is_named(tmp_path: Path) -> None:
    written(tmp_path / "pack")
    with pytest.raises(PackError, match=r"cannot answer .*'size DESC'"):
        select(Pack(tmp_path / "pack"), order="size DESC")


# -- names --------------------------------------------------------------------------------------


def test_a_graph_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    graphs = written(tmp_path / "pack")
    graph = graphs["model-2"]
    pack = Pack(tmp_path / "pack")
    assert pack.graph(graph.id) == pack.graph(graph.id[:12]) == graph
    with pytest.raises(PackError, match="has no graph"):
        pack.graph(graph.id[:5])


def test_an_ambiguous_id_names_the_graphs(tmp_path: Path) -> None:
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("one", some_graph(1))
        writer.add("two", some_graph(1))
    with pytest.raises(PackError, match="stands for 2 graphs: one, two"):
        Pack(tmp_path / "pack").graph(some_graph(1).id[:8])


def test_a_missing_name_suggests_others(tmp_path: Path) -> None:
    written(tmp_path / "pack")
    pack = Pack(tmp_path / "pack")
    with pytest.raises(PackError, match=r"no graph 'modell-3'; did you mean model-3"):
        pack.graph("modell-3")
    with pytest.raises(PackError, match=r"it has model-0, model-1, model-2 …"):
        pack.graph("xyz")


@pytest.mark.parametrize("name", ["a' OR '1'='1", "ä/ü", "a\nb", "", "x" * 5000, "model-1 "])
def test_any_text_is_a_name(tmp_path: Path, name: str) -> None:
    graphs = written(tmp_path / "pack")
    with PackWriter(tmp_path / "pack") as writer:
        writer.add(name, some_graph(9))
    pack = Pack(tmp_path / "pack")
    assert pack.graph(name) == some_graph(9)
    assert dict(pack.graphs([name])) == {name: some_graph(9)}
    assert pack.graph("model-1") == graphs["model-1"]


# -- opening ------------------------------------------------------------------------------------


def test_what_is_no_pack(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="does not exist; make a pack with `graph-net import`"):
        Pack(tmp_path / "nowhere")
    with pytest.raises(PackError, match="holds no part"):
        Pack(tmp_path)
    (tmp_path / "part-00000.parquet").write_bytes(b"no parquet")
    with pytest.raises(PackError, match="cannot be read"):
        Pack(tmp_path)
    pq.write_table(pa.table({"name": ["a"]}), tmp_path / "part-00000.parquet")
    with pytest.raises(PackError, match="is not a pack: it lacks category"):
        Pack(tmp_path)
    with pytest.raises(PackError, match="is a file"):
        PackWriter(tmp_path / "part-00000.parquet")


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    for number in range(3):
        with PackWriter(tmp_path / "pack") as writer:
            writer.add(f"{number}", some_graph(number))
    part = tmp_path / "pack" / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(PackError, match=r"pack cannot be read: .*part-00001"):
        Pack(tmp_path / "pack").names()


def test_no_names_are_no_graphs(tmp_path: Path) -> None:
    with PackWriter(tmp_path) as writer:
        writer.add("one", some_graph(1))
    assert list(Pack(tmp_path).graphs([])) == []
    assert [name for name, _ in Pack(tmp_path).graphs(iter(["one"]))] == ["one"]
