"""Outputs that a wrong compiler could hide behind are told from others, and counted."""

from __future__ import annotations

import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from graph_net.corpus import outputs
from graph_net.corpus.outputs import (
    BEGIN,
    END,
    Look,
    OutputKind,
    _look_of,
    count_outputs,
    digest_of,
    kind_of,
    observe,
    observe_all,
    read_looks,
    summarize_outputs,
    wilson_interval,
    with_outputs,
)
from graph_net.corpus.pack import Pack, PackError, PackWriter
from graph_net.graph import Graph, Input, Node, Normal, Ref, TensorSpec, to_bytes
from graph_net.isolate import Finished, Limits

LIVELY = torch.tensor([1.0, 2.0])


@pytest.mark.parametrize(
    ("outputs", "kind"),
    [
        ([LIVELY], OutputKind.LIVELY),
        ([LIVELY, torch.zeros(3)], OutputKind.LIVELY),
        ([torch.zeros(3), torch.ones(2)], OutputKind.CONSTANT),
        ([1e-7 * LIVELY], OutputKind.CONSTANT),
        ([1e5 + 1e-2 * LIVELY], OutputKind.CONSTANT),
        ([LIVELY, torch.tensor([math.inf])], OutputKind.NOT_FINITE),
        ([LIVELY, torch.tensor([1.0, math.nan])], OutputKind.NOT_FINITE),
        ([LIVELY, torch.tensor([-1e7, 0.0])], OutputKind.LARGE),
        ([torch.zeros(2, dtype=torch.int64), 3], OutputKind.LIVELY),
        ([torch.tensor(0.5)], OutputKind.LIVELY),
        ([torch.zeros(0)], OutputKind.LIVELY),
    ],
)
def test_kinds(outputs: list[torch.Tensor], kind: OutputKind) -> None:
    assert kind_of(outputs)[0] is kind


def graph_of(target: str) -> Graph:
    x = Input("x", TensorSpec((3, 4), "float32"), Normal(0.0, 1.0))
    return Graph((x,), (Node("y", target, (Ref("x"),)),), (Ref("y"),))


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("lively", graph_of("torch.relu"))
        writer.add("constant", graph_of("torch.zeros_like"))
    return Pack(tmp_path / "pack")


def test_graphs_run_in_confined_processes_and_a_second_run_goes_on(
    pack: Pack, tmp_path: Path
) -> None:
    keep = tmp_path / "kept.jsonl"
    limits = Limits(60, 8 << 30)
    assert [one.kind for one in observe_all(pack, ["lively"], keep, 1, limits)] == [
        OutputKind.LIVELY
    ]
    with keep.open("a") as file:
        file.write('{"name": "torn')
    again = list(observe_all(pack, ["lively", "constant"], keep, 2, limits))
    assert [(one.name, one.kind) for one in again] == [("constant", OutputKind.CONSTANT)]
    assert [one.name for one in read_looks(keep)] == ["lively", "constant"]  # the torn line is gone


def test_what_was_seen_of_other_values_does_not_count(tmp_path: Path) -> None:
    seen = observe("g", to_bytes(graph_of("torch.relu")), "cpu")
    keep = tmp_path / "kept.jsonl"
    keep.write_text("")
    assert read_looks(keep, {"g": seen.digest}) == []
    assert seen.digest == digest_of(to_bytes(graph_of("torch.relu")))
    assert seen.digest != digest_of(to_bytes(graph_of("torch.zeros_like")))


def test_counts_are_of_the_graphs_a_pack_holds_now(pack: Pack, tmp_path: Path) -> None:
    keep = tmp_path / "kept.jsonl"
    list(observe_all(pack, ["lively", "constant"], keep, 1, Limits(60, 8 << 30)))
    with keep.open("a") as file:
        file.write(keep.read_text().splitlines()[0].replace('"digest": "', '"digest": "0') + "\n")
    assert count_outputs(pack, keep).startswith("2 of 2 graphs were run on values")
    page = f"before\n{BEGIN}\nold\n{END}\nafter"
    assert with_outputs(page, "new") == f"before\n{BEGIN}\nnew\n{END}\nafter"


def test_a_file_that_is_not_there_is_named(pack: Pack, tmp_path: Path) -> None:
    with pytest.raises(PackError, match=r"no file .*gone\.jsonl"):
        count_outputs(pack, tmp_path / "gone.jsonl")


def test_a_graph_that_fails_is_not_counted_among_those_that_ran() -> None:
    seen = [
        Look("a", "", OutputKind.LIVELY),
        Look("b", "", OutputKind.CONSTANT),
        Look("c", "", OutputKind.UNKNOWN),
    ]
    text = summarize_outputs(seen, 9)
    assert text.startswith("2 of 9 graphs were run on values (1 more were not run to their end)")
    assert "50.0 % tell nothing" in text


def test_the_interval_is_wilsons() -> None:
    low, high = wilson_interval(0, 300)
    assert low == 0
    assert high == pytest.approx(0.0126, abs=1e-4)
    assert wilson_interval(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)


@pytest.mark.parametrize("answer", [None, 7, {}, {"kind": "nonsense"}, {"kind": "lively"}])
def test_a_process_that_says_rubbish_is_unknown(answer: Any) -> None:
    seen = _look_of(Finished(("name", b"graph"), (answer,), None, 1.0))
    assert (seen.name, seen.kind) == ("name", OutputKind.UNKNOWN)
    assert seen.reason.startswith("wrote something that is not an answer")


def test_what_a_process_died_of_is_kept(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "observe", lambda *_: os.kill(os.getpid(), signal.SIGUSR2))
    (seen,) = observe_all(pack, ["lively"], tmp_path / "kept.jsonl", 1, Limits(60, 8 << 30))
    assert (seen.kind, seen.reason) == (OutputKind.UNKNOWN, "died of SIGUSR2")
