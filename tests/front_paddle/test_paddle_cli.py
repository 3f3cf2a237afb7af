"""The verbs on Paddle graphs, on a machine without Paddle."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.calling import Cli
from cli.conftest import cli  # noqa: F401
from front_paddle import samples
from graph_net.formats.graphnet import read_sample


@pytest.fixture
def pack(tmp_path: Path, cli: Cli) -> Path:  # noqa: F811
    samples.write(tmp_path / "zoo" / "norm")
    samples.write_odd(tmp_path / "zoo" / "odd")
    answer = cli("import", tmp_path / "zoo", "-o", tmp_path / "some.pack", "--jobs", "1")
    assert (answer.code, answer.err.count("2 read")) == (0, 1)
    return tmp_path / "some.pack"


@pytest.fixture
def no_paddle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paddle", None)


@pytest.mark.usefixtures("no_paddle")
def test_they_are_listed_shown_and_exported(tmp_path: Path, cli: Cli, pack: Path) -> None:  # noqa: F811
    assert "norm" in cli("list", pack, "--where", "level = 'paddle' AND parameters = 8").out
    shown = cli("show", f"{pack}:norm").out
    assert "paddle._C_ops.layer_norm" in shown
    assert "counted for torch graphs only" in shown
    assert "class GraphModule(paddle.nn.Layer):" in cli("show", f"{pack}:norm", "--code").out
    assert cli("export", pack, "-o", tmp_path / "out").code == 0
    assert read_sample(tmp_path / "out" / "norm") == read_sample(tmp_path / "zoo" / "norm")


@pytest.mark.usefixtures("no_paddle")
def test_run_says_what_to_install(cli: Cli, pack: Path) -> None:  # noqa: F811
    answer = cli("run", f"{pack}:norm")
    assert answer.code == 1
    assert 'pip install "graph-net[paddle]"' in answer.err


def test_there_is_nothing_to_lower(cli: Cli, pack: Path) -> None:  # noqa: F811
    answer = cli("run", f"{pack}:norm", "--lower")
    assert answer.code == 1
    assert "no ATen form" in answer.err


@pytest.mark.usefixtures("no_paddle")
def test_extract_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from graph_net.paddle import extract

    monkeypatch.setenv("GRAPH_NET_EXTRACT_WORKSPACE", str(tmp_path))
    with pytest.raises(ImportError, match=r"pip install .graph-net\[paddle\]."):
        extract("net")
