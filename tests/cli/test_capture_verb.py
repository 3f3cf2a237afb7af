"""``graph-net capture``: a model of the user's own into a pack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.calling import Cli
from graph_net.corpus.pack import Pack

SOURCE = """
import torch

def softmax(x, y):
    return torch.softmax(x @ y, -1)

class Breaks(torch.nn.Module):
    def forward(self, x):
        y = x.relu()
        torch._dynamo.graph_break()
        return y if y.sum() > 100 else y.sin()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(SOURCE)
    return tmp_path / "mine.py"


def test_a_function_is_captured_with_the_sizes_of_the_command_line(
    cli: Cli, file: Path, tmp_path: Path
) -> None:
    words = ("-i", "x=float32[4,3]", "-i", "y=float32[3,5]", "--dynamic", "rows=x.0")
    answer = cli("capture", f"{file}:softmax", "-o", tmp_path / "pack", *words)
    assert answer.code == 0
    assert "1 graph with 2 nodes" in answer.err
    (row,) = json.loads(cli("list", tmp_path / "pack", "--json").out)
    assert (row["name"], row["nodes"], row["symbols"]) == ("mine/softmax", 2, 1)
    shown = cli("show", f"{tmp_path / 'pack'}:mine/softmax", "--no-flops").out
    assert "rows = 4" in shown


def test_more_models_go_into_the_same_pack_under_their_names(
    cli: Cli, file: Path, tmp_path: Path
) -> None:
    words = (f"{file}:softmax", "-o", tmp_path / "pack", "-i", "float32[4,3]", "-i", "float32[3,5]")
    assert cli("capture", *words).code == 0
    assert cli("capture", *words, "--name", "other").code == 0
    assert Pack(tmp_path / "pack").names() == ["mine/softmax", "other"]
    again = cli("capture", *words)
    assert again.code == 1
    assert "already has a graph 'mine/softmax'" in again.err


def test_a_model_that_breaks_gives_its_pieces_and_says_why(
    cli: Cli, file: Path, tmp_path: Path
) -> None:
    answer = cli("capture", f"{file}:Breaks", "-o", tmp_path / "pack", "-i", "float32[4]")
    names = Pack(tmp_path / "pack").names() if answer.code == 0 else []
    assert names[:2] == ["mine/Breaks/0", "mine/Breaks/1"], answer.err
    assert "refused by export:" in answer.err


def test_the_help_says_that_the_file_is_run(cli: Cli) -> None:
    assert "Your own file, which is run." in cli("capture", "--help").out
