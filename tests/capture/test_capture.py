"""Models in, graphs out."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from graph_net.capture import capture
from graph_net.capture.bind import bind
from graph_net.capture.check import check_graph_runs
from graph_net.capture.weights import without_weights
from graph_net.graph import (
    GraphError,
    Integers,
    Level,
    Literal,
    Normal,
    Provenance,
    Role,
    TensorSpec,
)
from graph_net.graph.execute import flat_outputs, make_input, run
from graph_net.testing.models import CASES, Decoder, Recurrent, case

WHOLE = [c.name for c in CASES if not c.training and c.name != "reads_values"]


@pytest.mark.parametrize("name", WHOLE)
def test_a_captured_graph_computes_what_the_model_computes(name: str) -> None:
    chosen = case(name)
    torch.manual_seed(0)
    model, inputs = chosen.build().eval(), chosen.inputs()
    captured = capture(model, inputs)
    (graph,) = captured.graphs
    assert captured.way == "export"
    assert graph.level is Level.ATEN
    check_graph_runs(graph)
    with torch.random.fork_rng():  # with gradients: torch's encoder has another path without
        torch.manual_seed(7)
        expected = model(*inputs)
    computed = flat_outputs(run(graph, bind(graph, model, inputs), seed=7))
    # Not bit for bit: eager torch has fused forms of LSTMs and encoders that a graph spells out.
    torch.testing.assert_close(computed, tree_leaves(expected))


def test_the_same_graph_comes_with_and_without_weights() -> None:
    with without_weights():
        empty = Decoder()
    inputs = case("decoder").inputs()
    assert all(p.device.type == "meta" for p in empty.parameters())
    (light,) = capture(empty, inputs).graphs
    (heavy,) = capture(Decoder(), inputs).graphs
    assert (light.structure, light.id) == (heavy.structure, heavy.id)


def test_seven_billion_parameters_take_no_memory() -> None:
    """In a process of its own, so that the memory it peaks at is its own."""
    program = (
        "import torch, resource\n"
        "from graph_net.capture import capture\n"
        "from graph_net.capture.weights import without_weights\n"
        "from graph_net.testing.models import Decoder\n"
        "with without_weights():\n"
        "    model = Decoder(layers=44, width=4096, heads=32, words=32000)\n"
        "ids = torch.zeros(1, 8, dtype=torch.int64)\n"
        "(graph,) = capture(model, (ids,)).graphs\n"
        "print(graph.parameters, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    parameters, kilobytes = map(int, done.stdout.split())
    assert parameters > 6.5e9
    assert kilobytes < 3_000_000  # the weights alone would be 26 GB


def test_statistics_are_recorded_when_the_weights_are_real() -> None:
    model = nn.Linear(40, 3)
    nn.init.normal_(model.weight, mean=2.0, std=0.5)
    (graph,) = capture(model, (torch.arange(80.0).reshape(2, 40),)).graphs
    recipes = {entry.original: entry.recipe for entry in graph.inputs}
    weight = recipes["weight"]
    assert isinstance(weight, Normal)
    assert weight.mean == pytest.approx(2.0, abs=0.2)
    assert weight.std == pytest.approx(0.5, abs=0.1)
    assert recipes["bias"] == Literal(tuple(model.bias.tolist()))


def test_tables_in_buffers_keep_their_values() -> None:
    """A captured model without weights still has its frequencies."""
    with without_weights():
        model = Decoder()
    (graph,) = capture(model, case("decoder").inputs()).graphs
    (table,) = [e for e in graph.inputs if e.role is Role.BUFFER]
    assert table.recipe == Literal(tuple(Decoder().frequencies.tolist()))


def test_dynamic_sizes_are_kept_as_symbols() -> None:
    size = torch.export.Dim("length", min=2, max=512)
    (graph,) = capture(
        Decoder(), (torch.zeros(1, 12, dtype=torch.int64),), dynamic_shapes=({1: size},)
    ).graphs
    (symbol,) = graph.symbols
    assert (symbol.name, symbol.example, symbol.low, symbol.high) == ("length", 12, 2, 512)
    (ids,) = [e for e in graph.inputs if e.role is Role.INPUT]
    assert isinstance(ids.spec, TensorSpec)
    assert [str(getattr(dim, "text", dim)) for dim in ids.spec.shape] == ["1", "length"]


class Paired(nn.Module):
    def forward(self, pair: list[Tensor], *, other: Tensor) -> Tensor:
        return torch.cat([pair[0] @ pair[1], other])


def test_sizes_keep_their_names_wherever_they_are_given() -> None:
    rows, more = torch.export.Dim("rows", min=2, max=64), torch.export.Dim("more", min=2, max=64)
    (graph,) = capture(
        Paired(),
        ([torch.zeros(6, 4), torch.zeros(4, 3)],),
        {"other": torch.zeros(5, 3)},
        dynamic_shapes={"other": {0: more}, "pair": [{0: rows}, None]},
    ).graphs
    assert {symbol.name: symbol.example for symbol in graph.symbols} == {"rows": 6, "more": 5}
    (result,) = [node.result for node in graph.nodes if node.target == "aten.cat.default"]
    assert isinstance(result, TensorSpec)
    assert result.sizes({"rows": 10, "more": 1}) == (11, 3)


def test_a_name_that_means_a_function_is_not_taken() -> None:
    size = torch.export.Dim("Max", min=2, max=64)
    shapes = ({0: size},)
    (graph,) = capture(nn.ReLU(), (torch.zeros(6),), dynamic_shapes=shapes).graphs
    (symbol,) = graph.symbols
    assert symbol.name != "Max"


def test_a_region_without_gradients_is_part_of_the_graph() -> None:
    class Frozen(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                y = x.exp()
            return y + x

    (graph,) = capture(Frozen(), (torch.randn(4),)).graphs
    assert [node.target for node in graph.nodes] == ["aten.exp.default", "aten.add.Tensor"]


class Breaks(nn.Module):
    """Leaves the graph in the middle."""

    def forward(self, x: Tensor) -> Tensor:
        x = x.relu()
        torch._dynamo.graph_break()
        return x.exp()


def test_a_model_that_breaks_gives_all_its_pieces_in_order() -> None:
    captured = capture(Breaks(), (torch.randn(4),), ways=("dynamo",))
    assert captured.way == "dynamo"
    assert [g.provenance.option("part") for g in captured.graphs] == [0, 1]
    assert [g.nodes[0].target for g in captured.graphs] == ["aten.relu.default", "aten.exp.default"]


class Decides(nn.Module):
    """Looks at a value, which an exported graph cannot."""

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x.relu()
        return x.exp()


def test_where_export_refuses_dynamo_is_asked_and_the_refusal_told() -> None:
    captured = capture(Decides(), (torch.ones(4),))
    assert captured.way == "dynamo"
    (refusal,) = captured.refused
    assert refusal.startswith("export: ")


def test_a_model_nobody_can_capture_says_why_for_each_way() -> None:
    class Fails(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.view(3)

    with pytest.raises(GraphError, match=r"export: .*; dynamo: "):
        capture(Fails(), (torch.ones(4),))


def test_provenance_says_where_a_graph_came_from() -> None:
    origin = Provenance(library="testing", model="recurrent", category="audio")
    (graph,) = capture(Recurrent(), (torch.randn(2, 5, 8),), provenance=origin).graphs
    assert graph.provenance.model == "recurrent"
    assert torch.__version__.startswith(graph.provenance.framework_version)


def test_inputs_are_described_by_what_they_held() -> None:
    (graph,) = capture(nn.Embedding(9, 4), (torch.randint(0, 9, (20, 30)),)).graphs
    (ids,) = [e for e in graph.inputs if e.role is Role.INPUT]
    assert ids.recipe == Integers(0, 8)


class Looks(nn.Module):
    """Looks values up in a table that its code holds."""

    def forward(self, x: Tensor) -> Tensor:
        return x[torch.tensor([(7 * i) % 100 for i in range(100)])]


def test_a_table_in_the_code_is_kept_as_it_is() -> None:
    (graph,) = capture(Looks(), (torch.randn(100),)).graphs
    (table,) = (entry for entry in graph.inputs if entry.role is Role.CONSTANT)
    assert table.recipe == Literal(tuple((7 * i) % 100 for i in range(100)))


def test_statistics_have_a_range_so_that_no_variance_is_drawn_negative() -> None:
    model = nn.BatchNorm1d(100).eval()
    model.running_var = torch.rand(100) * 1e-3  # mean 5e-4 is nearer to 0 than two deviations
    (graph,) = capture(model, (torch.randn(1, 100),)).graphs
    (variance,) = (e for e in graph.inputs if e.original == "running_var")
    assert isinstance(variance.recipe, Normal)
    assert variance.recipe.low is not None
    assert variance.recipe.low >= 0
    assert bool((make_input(graph, variance) >= 0).all())


def test_a_variance_without_a_value_is_positive() -> None:
    model = nn.BatchNorm1d(100).eval().to("meta")
    (graph,) = capture(model, (torch.randn(1, 100),)).graphs
    (variance,) = (e for e in graph.inputs if e.original == "running_var")
    assert bool((make_input(graph, variance) > 0).all())
