"""Samples of whole models: read without running them, they compute what running them computes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

import oracle
from formats.small_models import CUDA, SMALL
from graph_net.formats.graphnet import find_samples, read_sample
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import Constant, Graph, Literal, RunDevice, ScalarSpec, from_bytes, to_bytes
from graph_net.graph.execute import make_inputs, run

FILES = {
    "graph_net.json",
    "graph_hash.txt",
    "model.py",
    "weight_meta.py",
    "input_meta.py",
    "input_tensor_constraints.py",
}
NESTED = """
    def forward(self, L_x_: torch.Tensor, L_y_: torch.Tensor):
        l_x_ = L_x_
        l_y_ = L_y_
        top = l_x_.topk(2)
        values = top[0]
        both = [values, top.indices]
        top = None
        return {"pair": (l_x_ + l_y_,), "both": both, "deep": [{"none": None}, 3, l_y_.shape]}
"""


@dataclass(frozen=True)
class Sample:
    """A sample the oracle wrote, and the graph read from it."""

    name: str
    directory: Path
    graph: Graph


@pytest.fixture(scope="session", params=[*SMALL, "nested"])
def samples(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> object:
    """The samples of one model: one, or several where Dynamo breaks the graph."""
    name: str = request.param
    root = tmp_path_factory.mktemp(name) / name
    if name == "nested":
        arguments = {"L_x_": torch.ones(4), "L_y_": torch.ones(4)}
        oracle.write_files(root, oracle.module_source(NESTED), arguments)
    else:
        small = SMALL[name]
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = small.build().train(small.training)
            oracle.extract(model, small.inputs(), root, small.dynamic, small.device_text)
    return [Sample(name, place, read_sample(place)) for place in find_samples(root)]


def test_the_graph_computes_what_the_source_computes(samples: list[Sample]) -> None:
    for sample in samples:
        expected = oracle.execute(sample.directory, make_inputs(sample.graph))
        assert oracle.same(run(sample.graph), expected)


def test_arguments_changed_in_place_are_changed_alike(samples: list[Sample]) -> None:
    for sample in samples:
        ours, theirs = make_inputs(sample.graph), make_inputs(sample.graph)
        run(sample.graph, ours)
        oracle.execute(sample.directory, theirs)
        assert oracle.same(ours, theirs)


def test_other_names_give_the_same_hashes(samples: list[Sample], tmp_path: Path) -> None:
    for number, sample in enumerate(samples):
        oracle.renamed(sample.directory, tmp_path / str(number))
        other = read_sample(tmp_path / str(number))
        assert other != sample.graph
        assert (other.structure, other.id) == (sample.graph.structure, sample.graph.id)


def test_a_written_sample_reads_back_as_the_same_graph(
    samples: list[Sample], tmp_path: Path
) -> None:
    for number, sample in enumerate(samples):
        write_sample(sample.graph, tmp_path / str(number))
        assert read_sample(tmp_path / str(number)) == sample.graph


def test_a_written_sample_computes_the_same_when_executed(
    samples: list[Sample], tmp_path: Path
) -> None:
    for number, sample in enumerate(samples):
        write_sample(sample.graph, tmp_path / str(number))
        inputs = make_inputs(sample.graph)
        assert oracle.same(oracle.execute(tmp_path / str(number), inputs), run(sample.graph))


def test_bytes_keep_the_graph(samples: list[Sample]) -> None:
    for sample in samples:
        assert from_bytes(to_bytes(sample.graph)) == sample.graph


def test_a_model_that_breaks_gives_a_sample_for_each_graph(tmp_path: Path) -> None:
    small = SMALL["breaks"]
    oracle.extract(small.build(), small.inputs(), tmp_path / "breaks")
    found = [place.name for place in find_samples(tmp_path)]
    assert found == ["subgraph_0", "subgraph_1"]


# -- what is written ----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """A model whose source names a CUDA device."""
    small, place = SMALL["gpt_cuda"], tmp_path_factory.mktemp("gpt") / "gpt"
    oracle.extract(small.build(), small.inputs(), place, device_text=small.device_text)
    return Sample("gpt", place, read_sample(place))


def test_a_device_in_the_source_is_no_part_of_the_graph(gpt: Sample, tmp_path: Path) -> None:
    assert CUDA in (gpt.directory / "model.py").read_text()
    plain = tmp_path / "plain"
    plain.mkdir()
    for file in gpt.directory.iterdir():
        text = file.read_text().replace(CUDA, "device(type='cpu')").replace('"cuda"', '"cpu"')
        (plain / file.name).write_text(text)
    origin = gpt.graph.provenance
    assert replace(read_sample(plain), provenance=origin) == gpt.graph
    devices = [value for node in gpt.graph.nodes for _, value in node.kwargs]
    assert RunDevice() in devices


@pytest.mark.parametrize(
    ("device", "spelled", "meta"),
    [
        ("cpu", 'device(type="cpu")', 'device = "cpu"'),
        ("cuda", 'device(type="cuda", index=0)', 'device = "cuda"'),
        ("cuda:1", 'device(type="cuda", index=1)', 'device = "cuda:1"'),
    ],
)
def test_the_device_is_chosen_when_writing(
    gpt: Sample, tmp_path: Path, device: str, spelled: str, meta: str
) -> None:
    write_sample(gpt.graph, tmp_path / "gpt", device)
    model = (tmp_path / "gpt" / "model.py").read_text()
    assert set(re.findall(r"device\(.*?\)", model)) == {spelled}
    assert "from torch import device" in model
    assert meta in (tmp_path / "gpt" / "weight_meta.py").read_text()
    assert read_sample(tmp_path / "gpt") == gpt.graph


def test_the_six_files_and_their_fields(gpt: Sample, tmp_path: Path) -> None:
    place = tmp_path / "gpt"
    write_sample(gpt.graph, place)
    assert {file.name for file in place.iterdir()} == FILES
    assert re.fullmatch(r"[0-9a-f]{64}", (place / "graph_hash.txt").read_text())
    assert (place / "graph_hash.txt").read_text() == (gpt.directory / "graph_hash.txt").read_text()
    assert (place / "input_meta.py").read_text() == ""
    written = json.loads((place / "graph_net.json").read_text())
    assert written == json.loads((gpt.directory / "graph_net.json").read_text())


def test_the_class_names_and_annotations_are_graphnets(gpt: Sample, tmp_path: Path) -> None:
    write_sample(gpt.graph, tmp_path / "gpt")
    model = (tmp_path / "gpt" / "model.py").read_text()
    assert "class GraphModule(torch.nn.Module):\n    def forward(\n        self," in model
    assert model.startswith("import torch\n\n")
    assert "L_ids_: torch.Tensor," in model
    assert "L_self_modules_words_parameters_weight_: torch.nn.parameter.Parameter," in model
    metas = (tmp_path / "gpt" / "weight_meta.py").read_text()
    classes = re.findall(r"^class Program_weight_tensor_meta_(\w+):$", metas, re.MULTILINE)
    assert classes == [entry.name for entry in gpt.graph.inputs]
    fields = [line.split(" = ")[0].strip() for line in metas.splitlines() if line[:4] == "    "]
    assert {"name", "shape", "dtype", "device", "mean", "std", "data"} <= set(fields)


def test_symbolic_sizes_are_arguments_with_their_value(tmp_path: Path) -> None:
    small = SMALL["sizes"]
    (place,) = oracle.extract(small.build(), small.inputs(), tmp_path / "sizes", dynamic=True)
    graph = read_sample(place)
    numbers = [entry for entry in graph.inputs if isinstance(entry.spec, ScalarSpec)]
    values = {entry.recipe.value for entry in numbers if isinstance(entry.recipe, Constant)}
    assert values == {2, 5, 7, 12}
    write_sample(graph, tmp_path / "again")
    assert f"{numbers[0].name}: torch.SymInt," in (tmp_path / "again" / "model.py").read_text()
    assert "shape = []" in (tmp_path / "again" / "weight_meta.py").read_text()


def test_values_stored_literally_are_the_values_of_the_run(tmp_path: Path) -> None:
    small = SMALL["reads_numbers"]
    (place,) = oracle.extract(small.build(), small.inputs(), tmp_path / "numbers")
    recipes = {entry.name: entry.recipe for entry in read_sample(place).inputs}
    assert recipes["L_self_buffers_steps_"] == Literal((2, 4, 6))
    assert recipes["L_self_buffers_scale_"] == Literal((0.5,))


def test_writing_over_a_sample_keeps_what_lies_beside_its_files(
    gpt: Sample, tmp_path: Path
) -> None:
    place = tmp_path / "gpt"
    write_sample(gpt.graph, place / "subgraph_0")
    (place / "notes.txt").write_text("mine")
    write_sample(gpt.graph, place)
    write_sample(gpt.graph, place, "cuda")
    assert (place / "notes.txt").read_text() == "mine"
    assert [read_sample(found) for found in find_samples(place / "subgraph_0")] == [gpt.graph]
    assert read_sample(place) == gpt.graph
    assert [left.name for left in tmp_path.iterdir()] == ["gpt"]
