"""Samples that hold regions computed under vmap: traced on the way in, and bit-equal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import oracle
from cli.calling import Cli
from cli.conftest import cli as cli
from graph_net.corpus.open_sample import open_confined, open_sample
from graph_net.formats.graphnet import read_sample
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import GraphError, Level
from graph_net.graph.execute import make_inputs, run

OLD = {
    "torch._functorch.predispatch.lazy_load": "torch._functorch.vmap.lazy_load",
    "torch._functorch.predispatch._": "torch._C._functorch._",
}
"""How torch before 2.8 spells what it writes now."""


def mask_of(batch: Tensor, head: Tensor, query: Tensor, key: Tensor, seen: Tensor) -> Tensor:
    """Whether one query attends to one key: what transformers hand to vmap, one element each."""
    allowed = query.new_ones((), dtype=torch.bool) & (key <= query)
    return allowed & seen[batch, key]


class Masked(nn.Module):
    """Attention whose mask four nested vmaps make of a function of one element."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        size, length, _ = x.shape
        places = [torch.arange(n) for n in (size, 2, length, length)]
        seen = seen.to(torch.bool)

        def one(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return mask_of(batch, head, query, key, seen)

        for dims in ((None,) * 3 + (0,), (None, None, 0, None), (None, 0, None, None), (0,)):
            wide = dims if len(dims) == 4 else (0, None, None, None)
            one = torch.vmap(one, in_dims=wide, out_dims=0)
        mask = one(*places)
        q, k, v = self.qkv(x).view(size, length, 3, 2, 8).permute(2, 0, 3, 1, 4)
        out: Tensor = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return out.transpose(1, 2).reshape(size, length, 16)


class Twice(nn.Module):
    """Two regions; the second reads what the first gives, and is nested."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        norms = torch.vmap(lambda row: row / row.norm().clamp(min=0.5), in_dims=1, out_dims=1)(x)
        dots = torch.vmap(lambda a: torch.vmap(lambda b: (a * b).sum() + 1.5)(norms))(x * 2)
        return norms, dots.softmax(-1)


class Table(nn.Module):
    """A region that makes a tensor of its own."""

    def forward(self, x: Tensor) -> Tensor:
        moved: Tensor = torch.vmap(lambda row: row + torch.tensor([0.5, -2.0, 3.0]))(x)
        return moved.relu()


CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]], int]] = {
    "masked": (Masked, lambda: (torch.randn(2, 5, 16), torch.ones(2, 5, dtype=torch.long)), 1),
    "twice": (Twice, lambda: (torch.randn(4, 3),), 2),
    "table": (Table, lambda: (torch.randn(4, 3),), 1),
}


def sample(name: str, place: Path, old: bool = False, dynamic: bool = False) -> Path:
    build, inputs, _ = CASES[name]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        oracle.extract(build(), inputs(), place, dynamic)
    if old:
        text = (place / "model.py").read_text()
        for new, spelling in OLD.items():
            text = text.replace(new, spelling)
        (place / "model.py").write_text(text)
    assert "_vmap_increment_nesting" in (place / "model.py").read_text()
    return place


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
@pytest.mark.parametrize("name", CASES)
def test_a_sample_with_vmap_computes_what_its_source_computes(
    name: str, old: bool, tmp_path: Path
) -> None:
    place = sample(name, tmp_path / name, old)
    graph = open_sample(place)
    assert graph.level is Level.ATEN
    assert graph.provenance.option("vmap_regions") == CASES[name][2]
    inputs = make_inputs(graph)
    given = inputs[: len(read_names(place))]
    assert oracle.same(run(graph, list(inputs)), oracle.execute(place, given))


def read_names(place: Path) -> list[str]:
    """The arguments of the source; constants of the graph stand behind them."""
    text = (place / "weight_meta.py").read_text()
    return [line for line in text.splitlines() if line.startswith("class ")]


NESTED = """
    def forward(self, s0: torch.SymInt, L_mask_: torch.Tensor):
        l_mask_ = L_mask_
        seen = l_mask_.to(device=device(type="cuda", index=0), dtype=torch.bool)
        keys = torch.arange(s0, device=device(type="cuda", index=0))
        keys += 0
        keys_1 = keys; keys = None
        rows = torch.arange(2, device=device(type="cuda", index=0))
        load = F.lazy_load_decompositions(); load = None
        enter = F._vmap_increment_nesting(2, "error"); enter = None
        row = F._add_batch_dim(rows, 0, 1); rows = None
        load_1 = F.lazy_load_decompositions(); load_1 = None
        enter_1 = F._vmap_increment_nesting(s0, "error"); enter_1 = None
        key = F._add_batch_dim(keys_1, 0, 2); keys_1 = None
        ones = key.new_ones((), dtype=torch.bool)
        le = key.le(row)
        le_1 = le.to(device(type="cuda", index=0)); le = None
        both = ones.__and__(le_1); ones = le_1 = None
        function_ctx = torch.autograd.function.FunctionCtx(); function_ctx = None
        index = torch.ops.aten.index(seen, [row, key]); row = key = None
        either = both.__or__(index); both = index = None
        inner = F._remove_batch_dim(either, 2, s0, 0); either = s0 = None
        leave = F._vmap_decrement_nesting(); leave = None
        outer = F._remove_batch_dim(inner, 1, 2, 0); inner = None
        leave_1 = F._vmap_decrement_nesting(); leave_1 = None
        final = outer.__or__(seen)
        return (outer, final)
"""
"""How the public samples build a causal mask, with fewer layers."""


@pytest.mark.parametrize("number", [5, 4], ids=["right", "placeholder"])
def test_a_mask_as_the_public_samples_write_it_is_traced(number: int, tmp_path: Path) -> None:
    """GraphNet wrote 4 for a size it did not know; a size of the tensors is right there."""
    spelled = oracle.module_source(NESTED).replace("F.", "torch._functorch.predispatch.")
    seen = torch.tensor([[1, 0, 0, 1, 1], [0, 0, 0, 0, 1]])
    oracle.write_files(tmp_path / "mask", spelled, {"s0": number, "L_mask_": seen})
    graph = open_sample(tmp_path / "mask")
    repaired = ("s0",) if number == 4 else None
    assert graph.provenance.option("repaired_sizes") == repaired
    inputs = make_inputs(graph)
    assert oracle.same(run(graph, list(inputs)), oracle.execute(tmp_path / "mask", inputs))
    assert run(graph)[0].tolist()[1] == [True, True, False, False, True]


def test_a_sample_whose_sizes_are_numbers_is_traced_too(tmp_path: Path) -> None:
    place = sample("masked", tmp_path / "sample", dynamic=True)
    graph = open_sample(place)
    inputs = make_inputs(graph)
    assert oracle.same(run(graph, list(inputs)), oracle.execute(place, inputs))


def test_what_was_traced_is_a_graph_like_any_other(tmp_path: Path) -> None:
    graph = open_sample(sample("masked", tmp_path / "sample"))
    write_sample(graph, tmp_path / "again")
    again = read_sample(tmp_path / "again")
    assert oracle.same(run(again), run(graph))
    assert not any("functorch" in node.target for node in graph.nodes)


def test_a_process_that_is_confined_already_traces_by_itself(tmp_path: Path) -> None:
    place = sample("twice", tmp_path / "sample")
    assert open_confined(place).id == open_sample(place).id


def test_reading_alone_says_that_tracing_is_needed(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"under vmap.*graph_net\.corpus\.open_sample"):
        read_sample(sample("table", tmp_path / "sample"))


def test_an_import_takes_such_samples(tmp_path: Path, cli: Cli) -> None:
    for name in CASES:
        sample(name, tmp_path / "samples" / name)
    answer = cli("import", tmp_path / "samples", "-o", tmp_path / "pack", "-j", "2")
    assert answer.code == 0, answer.err
    assert "3 read" in answer.err


HEAD = "torch._C._functorch."
SOURCE = """
    def forward(self, L_x_: torch.Tensor):
        l_x_ = L_x_
        {body}
"""


def source(tmp_path: Path, *lines: str) -> Path:
    """A sample with these statements; ``F.`` stands for where torch keeps vmap's internals."""
    body = "\n        ".join(line.replace("F.", HEAD) for line in lines)
    text = oracle.module_source(SOURCE.format(body=body))
    oracle.write_files(tmp_path / "bad", text, {"L_x_": torch.ones(4)})
    return tmp_path / "bad"


ENTER = 'a = F._vmap_increment_nesting(4, "error")'
ADD = "b = F._add_batch_dim(l_x_, 0, 1)"
REMOVE = "c = F._remove_batch_dim(b, 1, 4, 0)"
LEAVE = "d = F._vmap_decrement_nesting()"


@pytest.mark.parametrize(
    "lines",
    [
        (ADD, "return b"),
        (ENTER, ADD, REMOVE, "return c"),
        (LEAVE, "return l_x_"),
        (ENTER, LEAVE, LEAVE, "return l_x_"),
        (ENTER, "b = F._add_batch_dim(l_x_, 0, 2)", LEAVE, "return l_x_"),
        (ENTER, ADD, "c = F._remove_batch_dim(b, 1, 4)", LEAVE, "return c"),
        ('a = F._vmap_increment_nesting(4, "often")', LEAVE, "return l_x_"),
        ("a = F._vmap_increment_nesting(4.5, 'error')", LEAVE, "return l_x_"),
        (*([ENTER] * 40), *([LEAVE] * 40), "return l_x_"),
    ],
)
def test_a_region_that_dynamo_does_not_write_is_refused(
    lines: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(GraphError, match=r"is a vmap internal outside a region"):
        open_sample(source(tmp_path, *lines))


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ((ENTER, ADD, LEAVE, "return b"), "leaves its vmap region while it is batched"),
        ((ENTER, ADD, "c = b.view(3, 3)", LEAVE, "return c"), "cannot be traced"),
        ((ENTER, ADD, "c = torch.load(b)", LEAVE, "return c"), "allow-list"),
        (("a = torch._C._functorch._grad_increment_nesting()", "return l_x_"), "vmap internal"),
        (("a = torch._C._functorch._unwrap_batched(l_x_, 1)", "return l_x_"), "vmap internal"),
    ],
)
def test_what_leaves_a_region_batched_or_is_not_allowed_is_refused(
    lines: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    with pytest.raises(GraphError, match=why):
        open_sample(source(tmp_path, *lines))


def test_a_failed_region_leaves_no_layer_open(tmp_path: Path) -> None:
    """The state that vmap keeps is of the whole process."""
    bad = source(tmp_path, ENTER, ADD, "c = b.view(3, 3)", LEAVE, "return c")
    with pytest.raises(GraphError, match="cannot be traced"):
        open_confined(bad)
    assert torch._C._functorch.maybe_current_level() is None
