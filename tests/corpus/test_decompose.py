"""Packs of whole graphs into packs of their subgraphs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.calling import Cli
from cli.conftest import cli as cli
from graph_net.corpus.decompose import Decomposition
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.corpus.query import select
from graph_net.corpus.subgraph_spool import Notes, SubgraphSpool, cut_pieces, encode_pieces
from graph_net.corpus.subgraph_stats import BEGIN, END, count_subgraphs, with_subgraphs
from graph_net.corpus.subgraphs import MODELS_NAMED, merge_rows, subgraph_row
from graph_net.graph import Graph, Input, Level, Node, Normal, Provenance, Ref, Role, TensorSpec
from graph_net.graph.execute import run
from graph_net.rewrite.anonymous import plain_names
from graph_net.rewrite.kinds import kind_of

SPEC = TensorSpec((4, 4), "float32")
KINDS = ["sole_op", "task", "block"]


def call(name: str, target: str, *args: Any) -> Node:
    return Node(name, f"aten.{target}", args, result=SPEC)


def stack_of_layers(layers: int, name: str = "stack") -> Graph:
    weights = [Input(f"w{i}", SPEC, Normal(0.0, 0.1), Role.PARAMETER) for i in range(layers)]
    nodes, last = [], "x"
    for i in range(layers):
        nodes += [
            call(f"m{i}", "mm.default", Ref(last), Ref(f"w{i}")),
            call(f"r{i}", "relu.default", Ref(f"m{i}")),
            call(f"v{i}", "view.default", Ref(f"r{i}"), (4, 4)),
        ]
        last = f"v{i}"
    inputs = (Input("x", SPEC, Normal(0.0, 1.0)), *weights)
    origin = Provenance(library="testing", model=name)
    return Graph(inputs, tuple(nodes), (Ref(last),), Level.ATEN, provenance=origin)


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    with PackWriter(tmp_path / "whole.pack") as writer:
        for layers in (2, 3, 5):
            name = f"testing/stack{layers}"
            writer.add(name, stack_of_layers(layers, f"stack{layers}"))
    return Pack(tmp_path / "whole.pack")


def decomposed(pack: Pack, folder: Path, kinds: list[str] = KINDS) -> Pack:
    decomposition = Decomposition(pack, kinds, SubgraphSpool(folder / "work"))
    for _ in decomposition.run(decomposition.missing(), 2):
        pass
    decomposition.write(folder / "parts")
    return Pack(folder / "parts")


def test_equal_subgraphs_are_one_row_with_occurrences_and_models(
    pack: Pack, tmp_path: Path
) -> None:
    rows = select(decomposed(pack, tmp_path), "kind = 'sole_op'", "name")
    found = {tuple(row["operators"]): row for row in rows}
    assert set(found) == {("aten.mm.default",), ("aten.relu.default",)}
    row = found["aten.mm.default",]
    assert row["occurrences"] == 10
    assert row["models"] == 3
    assert sorted(row["in_models"]) == ["testing/stack2", "testing/stack3", "testing/stack5"]


def test_rows_of_tasks_and_blocks(pack: Pack, tmp_path: Path) -> None:
    out = decomposed(pack, tmp_path)
    tasks = select(out, "kind = 'task'", "occurrences DESC")
    assert {tuple(row["operators"]) for row in tasks} == {
        ("aten.mm.default", "aten.relu.default"),
        ("aten.mm.default", "aten.relu.default", "aten.view.default"),
    }
    blocks = select(out, "kind = 'block'")
    assert {row["nodes"] for row in blocks} == {3}
    assert sum(row["occurrences"] for row in blocks) == 10


def test_what_computes_nothing_is_left_out() -> None:
    pieces = cut_pieces("s", stack_of_layers(2), "sole_op", kind_of("sole_op"))
    assert pieces.notes.groups == 6
    assert pieces.notes.trivial == 2
    assert not any("aten.view.default" in row["operators"] for row in pieces.rows)


def test_a_stored_subgraph_runs_and_says_where_it_is_from(pack: Pack, tmp_path: Path) -> None:
    out = decomposed(pack, tmp_path)
    sources = {row["id"] for row in pack.rows(["id"]).to_pylist()}
    for name, graph in out.graphs():
        run(graph)
        options = dict(graph.provenance.options)
        assert options["graph"] in sources
        assert name.startswith(f"{options['kind']}/{graph.id[:8]}")
        assert options["positions"]


def test_plain_names_change_names_alone() -> None:
    graph = stack_of_layers(3)
    plain = plain_names(graph)
    assert plain.id == graph.id
    assert [node.name for node in plain.nodes[:4]] == ["mm", "relu", "view", "mm_1"]
    assert [entry.name for entry in plain.inputs] == ["i_0", "p_1", "p_2", "p_3"]


def test_models_are_named_up_to_a_bound() -> None:
    graph = plain_names(stack_of_layers(1))
    rows = [subgraph_row("task", graph, 2, f"model{i}") for i in range(3 * MODELS_NAMED)]
    (row,) = merge_rows(rows)
    assert row["models"] == 3 * MODELS_NAMED
    assert row["occurrences"] == 6 * MODELS_NAMED
    assert row["in_models"] == [f"model{i}" for i in range(MODELS_NAMED)]


def test_what_is_finished_is_not_done_again(pack: Pack, tmp_path: Path) -> None:
    spool = SubgraphSpool(tmp_path / "work")
    first = Decomposition(pack, ["sole_op"], spool)
    assert len(list(first.run(first.missing(), 1))) == 3
    more = Decomposition(pack, ["sole_op", "task"], spool)
    assert set(more.missing().values()) == {("task",)}


def test_failures_are_kept_and_tried_again_when_asked(pack: Pack, tmp_path: Path) -> None:
    spool = SubgraphSpool(tmp_path / "work")
    decomposition = Decomposition(pack, ["task"], spool)
    graph = decomposition.ids["testing/stack2"]
    spool.put(graph, "task", encode_pieces([], Notes("testing/stack2", "task", failed="too slow")))
    assert "testing/stack2" not in decomposition.missing()
    assert "testing/stack2" in decomposition.missing(retry=True)


def test_a_spent_budget_begins_no_graph_and_the_smallest_come_first(
    pack: Pack, tmp_path: Path
) -> None:
    decomposition = Decomposition(pack, KINDS, SubgraphSpool(tmp_path / "work"))
    missing = decomposition.missing()
    assert list(decomposition.run(missing, 1, spend=0.0)) == []
    assert decomposition.missing() == missing
    backwards = dict(reversed(missing.items()))
    order = list(decomposition.run(backwards, 1, spend=600.0))
    assert order == ["testing/stack2", "testing/stack3", "testing/stack5"]


def test_pieces_that_die_leave_a_note(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decomposition = Decomposition(pack, ["task"], SubgraphSpool(tmp_path / "work"))
    crash = lambda *_, **__: os.kill(os.getpid(), signal.SIGSEGV)  # noqa: E731
    monkeypatch.setattr("graph_net.corpus.decompose._cut", crash)
    list(decomposition.run(decomposition.missing(), 2))
    assert {notes.failed for notes in decomposition.notes()} == {"died of SIGSEGV"}


SLOW = """
import sys, time
from pathlib import Path
from graph_net.corpus import decompose
from graph_net.corpus.pack import Pack
from graph_net.corpus.subgraph_spool import SubgraphSpool
d = decompose.Decomposition(Pack(sys.argv[1]), ["task"], SubgraphSpool(Path(sys.argv[2])))
for name in d.run(d.missing(), 1):
    print(name, flush=True)
    time.sleep(60)
"""


def test_a_killed_decomposition_goes_on(pack: Pack, tmp_path: Path) -> None:
    work = tmp_path / "work"
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, str(pack.path), str(work)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        done = process.stdout.readline().strip()
        process.kill()
    decomposition = Decomposition(pack, ["task"], SubgraphSpool(work))
    left = decomposition.missing()
    assert done not in left
    assert 1 <= len(left) <= 2
    resumed = decomposed(pack, tmp_path, ["task"])
    whole = decomposed(pack, tmp_path / "anew", ["task"])
    assert resumed.rows(resumed.columns).equals(whole.rows(whole.columns))


def as_dynamo_writes(layers: int) -> Graph:
    """The same layers as a sample has them: functions of torch, and no specifications."""
    graph = stack_of_layers(layers)
    names = {"aten.mm.default": "torch.mm", "aten.relu.default": "torch.relu"}
    nodes = (
        replace(node, target=names.get(node.target, "method:view"), result=None)
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes), level=Level.TORCH)


@pytest.fixture
def samples(tmp_path: Path) -> Pack:
    with PackWriter(tmp_path / "samples.pack") as writer:
        for layers in (2, 3, 5):
            writer.add(f"stack{layers}", as_dynamo_writes(layers))
        writer.add("aten", stack_of_layers(4))
    return Pack(tmp_path / "samples.pack")


def test_what_recurs_is_looked_for_in_the_form_that_is_cut(samples: Pack, tmp_path: Path) -> None:
    found = select(decomposed(samples, tmp_path, ["typical"]), "kind = 'typical'")
    assert found
    operators = {name for row in found for name in row["operators"]}
    assert operators == {"aten.mm.default", "aten.relu.default", "aten.view.default"}
    assert {"stack2", "stack3", "stack5", "aten"} == {m for row in found for m in row["in_models"]}


def test_a_graph_that_cannot_be_lowered_is_told_and_the_others_are_cut(
    samples: Pack, tmp_path: Path
) -> None:
    wrong = Node("wrong", "torch.mm", (Ref("x"), 3))
    bad = replace(as_dynamo_writes(2), nodes=(wrong,), output=(Ref("wrong"),))
    with PackWriter(samples.path) as writer:
        writer.add("bad", bad)
    pack = Pack(samples.path)
    decomposition = Decomposition(pack, ["typical", "task"], SubgraphSpool(tmp_path / "work"))
    list(decomposition.run(decomposition.missing(), 1))
    failed = {(notes.source, notes.kind): notes.failed for notes in decomposition.notes()}
    assert "cannot be lowered" in failed["bad", "typical"]
    assert "cannot be lowered" in failed["bad", "task"]
    assert not failed["stack2", "typical"]
    assert decomposition.write(tmp_path / "parts")


def test_no_subgraph_at_all_is_told_and_is_no_success(tmp_path: Path, cli: Cli) -> None:
    with PackWriter(tmp_path / "one.pack") as writer:
        writer.add("stack", as_dynamo_writes(2))
    words = ("--kinds", "typical", "--work", tmp_path / "w", "-j", "1")
    answer = cli("decompose", tmp_path / "one.pack", "-o", tmp_path / "out", *words)
    assert answer.code == 1
    assert "typical: no subgraphs, no sequence of 4 to 64 calls recurs in two graphs" in answer.err


def test_the_verb(pack: Pack, tmp_path: Path, cli: Cli) -> None:
    words = ("--kinds", "sole_op,task", "--work", tmp_path / "w", "-j", "1", "--check")
    answer = cli("decompose", pack.path, "-o", tmp_path / "out", *words)
    assert answer.code == 0, answer.err
    assert "sole_op" in answer.out
    notes = Decomposition(pack, ["sole_op", "task"], SubgraphSpool(tmp_path / "w")).notes()
    assert [found.composed for found in notes] == [True] * 6
    listed = cli("list", tmp_path / "out", "--where", "kind = 'task'", "--order", "occurrences")
    assert listed.code == 0
    assert "task/" in listed.out
    assert "sole_op/" not in listed.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--kinds", "nonsense"), "unknown kind 'nonsense'; known: sole_op"),
        (("--kinds", ","), "name a kind"),
    ],
)
def test_mistakes_are_told_in_a_line(
    pack: Pack, tmp_path: Path, cli: Cli, words: tuple[str, ...], says: str
) -> None:
    answer = cli("decompose", pack.path, "-o", tmp_path / "out", "--work", tmp_path / "w", *words)
    assert answer.code != 0
    assert says in answer.err
    same = cli("decompose", pack.path, "-o", pack.path)
    assert "is the pack that is read" in same.err


def test_counts_of_each_kind_stand_beside_passnets(pack: Pack, tmp_path: Path) -> None:
    out = decomposed(pack, tmp_path)
    found = count_subgraphs(out)
    assert found.kinds["sole_op"] == (2, 2, 20)
    page = tmp_path / "page.md"
    page.write_text(f"before {BEGIN} old {END} after")
    written = with_subgraphs(page.read_text(), found)
    assert "| `sole_op` | 2 | 2 | 20 | 5,939 |" in written
    assert "old" not in written
    assert with_subgraphs(written, found) == written
    with pytest.raises(ValueError, match="decompose"):
        count_subgraphs(pack)
