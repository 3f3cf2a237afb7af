"""TpuGraphs in the same store as everything else: graphs in packs, runs in SQL."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.small_graphs import layout_arrays, tile_arrays, write_npz
from graph_net.api.graphs import load
from graph_net.api.ingest import ingest
from graph_net.api.records import Records
from graph_net.api.samples import import_samples
from graph_net.configs.config_programs import TPU_V3, graph_programs
from graph_net.configs.files import read_graphs
from graph_net.configs.hlo_graph import hlo_graph
from graph_net.configs.layout_codes import key_slots, order_number, setting_keys
from graph_net.corpus.pack import Pack
from graph_net.formats.tpugraphs.hlo_text import hlo_text
from graph_net.graph import Graph, GraphError, Level, Node, from_bytes, to_bytes
from graph_net.programs.store.program_store import ProgramStore
from graph_net.results import ConfigKind
from graph_net.store.lines import ReadError
from graph_net.testing.config_set import easy_layouts
from real_files import SLICES

KERNELS = SLICES / "tpugraphs/pb/op_tuning_data.pb"


def test_a_graph_of_hlo_keeps_its_bytes_and_its_hashes(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "x.npz", layout_arrays())
    graph = hlo_graph(next(read_graphs(path)))
    assert graph.level is Level.HLO
    assert [entry.name for entry in graph.inputs] == ["parameter_0", "parameter_3"]
    assert [node.target for node in graph.nodes][:2] == ["hlo.convolution", "hlo.add"]
    again = from_bytes(to_bytes(graph))
    assert again == graph
    assert (again.id, again.structure) == (graph.id, graph.structure)


def test_sizes_are_part_of_the_id_and_not_of_the_structure(tmp_path: Path) -> None:
    arrays = layout_arrays()
    one = hlo_graph(next(read_graphs(write_npz(tmp_path / "a.npz", arrays))))
    arrays["node_feat"][:, 21] = 99
    other = hlo_graph(next(read_graphs(write_npz(tmp_path / "b.npz", arrays))))
    assert one.structure == other.structure
    assert one.id != other.id


def test_a_kernel_of_both_files_has_one_id() -> None:
    npz = SLICES / "tpugraphs/npz/tile/xla/test/d6f5f54247bd1e58a10b9e7062c636ab.npz"
    ids = {graph.name: hlo_graph(graph).id for graph in read_graphs(KERNELS)}
    assert load(npz).id == ids["reshape.37_24aa8731e7561309"]


def test_hlo_is_text_as_xla_writes_it() -> None:
    text = hlo_text(load(f"{KERNELS}:copy.24_715d6c5d784f9262"))
    assert text.splitlines()[0] == "  %parameter_0 = bf16[32,5,5,256]{3,0,2,1} parameter()"
    assert text.splitlines()[1].startswith("  ROOT %copy_1 = bf16[32,5,5,256] copy(%parameter_0)")


def test_a_graph_of_several_must_be_named() -> None:
    with pytest.raises(GraphError, match="holds 14 graphs; name one"):
        load(KERNELS)


def test_other_operators_are_refused_at_level_hlo() -> None:
    with pytest.raises(GraphError, match="not an operator of HLO"):
        Graph((), (Node("x", "aten.relu.default"),), None, Level.HLO)
    with pytest.raises(GraphError, match="which are read and not run"):
        Graph((), (Node("x", "hlo.copy"),), None, Level.ATEN)


def test_a_node_that_consumes_a_later_one_is_refused(tmp_path: Path) -> None:
    arrays = layout_arrays() | {"edge_index": np.array([(1, 2)])}
    with pytest.raises(ReadError, match="does not come before it"):
        hlo_graph(next(read_graphs(write_npz(tmp_path / "x.npz", arrays))))


def test_files_become_a_pack_and_are_not_read_twice(tmp_path: Path) -> None:
    write_npz(tmp_path / "npz/tile/xla/train/k.npz", tile_arrays())
    (tmp_path / "npz/tile/xla/train/broken.npz").write_bytes(b"PK\x03\x04")
    outcome = import_samples([tmp_path / "npz"], tmp_path / "pack", progress=False)
    assert (outcome.read, len(outcome.refused)) == (1, 1)
    assert Pack(tmp_path / "pack").names() == ["tile/xla/train/k"]
    again = import_samples([tmp_path / "npz"], tmp_path / "pack", progress=False)
    assert (again.read, again.skipped) == (0, 1)


def test_runs_are_programs_of_layouts_and_tiles_with_every_repeat(tmp_path: Path) -> None:
    layouts = write_npz(tmp_path / "a.npz", layout_arrays(runs=6))
    list(ingest([layouts, KERNELS], tmp_path / "records", jobs=1, progress=False))
    _, rows = Records(tmp_path / "records").query(
        "SELECT kind, count(*), sum(len(costs)), any_value(device_name) FROM programs GROUP BY 1 "
        "ORDER BY 1"
    )
    (layout, tile) = rows
    assert layout[0] == "layout"
    assert layout[2] == 6
    assert tile[:3] == ("tile", 166, 173)
    assert tile[3] == "TPU v3"


def test_layouts_that_were_measured_here_are_not_those_of_a_tpu(tmp_path: Path) -> None:
    """A folder of our data set names its platform."""
    ours = write_npz(tmp_path / "npz/layout/h200/random/train/a.npz", layout_arrays())
    arrays = layout_arrays(runs=6)
    theirs = write_npz(tmp_path / "npz/layout/xla/random/train/b.npz", arrays)
    list(ingest([ours, theirs], tmp_path / "records", jobs=1, progress=False))
    _, rows = Records(tmp_path / "records").query(
        "SELECT DISTINCT task, device_name FROM programs ORDER BY 2"
    )
    assert [name for _, name in rows] == ["TPU v3", "h200"]
    (program, *_) = graph_programs(next(read_graphs(ours)))
    assert (program.device, program.task.target) == (None, "h200")


def test_programs_come_back_equal_from_the_store(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "a.npz", layout_arrays())
    list(ingest([path], tmp_path / "records", jobs=1, progress=False))
    stored = [program for _, program in ProgramStore(tmp_path / "records").programs()]
    made = list(graph_programs(next(read_graphs(path))))
    assert stored == made
    assert made[0].config.kind is ConfigKind.LAYOUT
    assert made[0].device == TPU_V3


def test_the_compilers_own_choice_is_marked() -> None:
    kernel = next(read_graphs(KERNELS))
    chosen = [program for program in graph_programs(kernel) if program.extra]
    assert [json.loads(program.extra) for program in chosen] == [{"default": True}]


def test_a_test_file_says_that_its_times_are_withheld(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "a.npz", layout_arrays() | {"config_runtime": np.zeros(24, int)})
    with pytest.raises(ReadError, match="run times are withheld"):
        list(ingest([path], tmp_path / "records", jobs=1, progress=False))


@given(st.lists(st.lists(st.integers(-1, 5), min_size=18, max_size=18), min_size=1, max_size=9))
def test_settings_survive_as_numbers(rows: list[list[int]]) -> None:
    slots = np.array(rows)
    assert (key_slots(setting_keys(slots)) == slots).all()


def test_an_order_is_a_number_that_people_can_read() -> None:
    assert [order_number(order) for order in ((4, 0, -1), (), (0, 1, 2))] == [51, 0, 123]
    program = next(iter(graph_programs(easy_layouts("g"))))
    assert json.loads(program.schedule)[0] in ([12, 0, 0], [21, 0, 0], [32, 0, 0], [43, 0, 0])
