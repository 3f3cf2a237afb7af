"""``graph-net collect`` on a zoo that a user's package offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.calling import Cli
from graph_net.corpus.pack import Pack

ZOO = """
import torch
from torch import nn

from graph_net.capture.zoo import Call, ZooEntry


class Breaks(nn.Module):
    def forward(self, x):
        raise ValueError("no such layer")


class LinearZoo:
    library = "linears"
    models = {"three": nn.Linear(4, 3), "five": nn.Linear(4, 5), "broken": Breaks()}

    def entries(self):
        return (ZooEntry(self.library, name, "other", "linear") for name in self.models)

    def build(self, entry):
        return Call(self.models[entry.name], (torch.zeros(2, 4),))
"""


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a zoo with two models that can be captured and one that cannot."""
    site = tmp_path / "site"
    (site / "linears-1.dist-info").mkdir(parents=True)
    (site / "linears.py").write_text(ZOO, "utf-8")
    (site / "linears-1.dist-info" / "METADATA").write_text("Name: linears\nVersion: 1\n", "utf-8")
    (site / "linears-1.dist-info" / "entry_points.txt").write_text(
        "[graph_net.zoos]\nlinears = linears:LinearZoo\n", "utf-8"
    )
    monkeypatch.syspath_prepend(str(site))
    return "linears"


def test_models_are_captured_and_packed_and_failures_are_counted(
    cli: Cli, zoo: str, tmp_path: Path
) -> None:
    pack, work = tmp_path / "pack", tmp_path / "work"
    answer = cli("collect", "--zoos", zoo, "-o", pack, "--work", work, "-j", "1", "--by-size")
    assert answer.code == 0, answer.err
    assert "linears: 2 captured, 1 failed" in answer.err
    assert "no such layer" in answer.out
    assert f"2 distinct graphs added to {pack}" in answer.err
    assert sorted(Pack(pack).names()) == ["linears/five", "linears/three"]


def test_results_in_the_work_directory_are_not_captured_again(
    cli: Cli, zoo: str, tmp_path: Path
) -> None:
    pack, work = tmp_path / "pack", tmp_path / "work"
    options = ("--zoos", zoo, "-o", pack, "--work", work, "-j", "1")
    assert cli("collect", *options, "--no-pack").code == 0
    before = {path: path.stat().st_mtime_ns for path in work.rglob("*") if path.is_file()}
    answer = cli("collect", *options, "--no-pack")
    assert "linears: 2 captured, 1 failed" in answer.err
    assert before == {path: path.stat().st_mtime_ns for path in work.rglob("*") if path.is_file()}


def test_an_unknown_mode_names_the_others(cli: Cli, zoo: str, tmp_path: Path) -> None:
    answer = cli("collect", "--zoos", zoo, "-o", tmp_path / "pack", "--mode", "fast")
    assert answer.code == 1
    assert "unknown mode 'fast'; available: inference" in answer.err
