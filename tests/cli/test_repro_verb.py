"""``graph-net repro``, and the ways to name a graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.calling import Cli
from graph_net.corpus.pack import Pack
from graph_net.formats.graphnet import read_sample
from graph_net.graph import to_bytes, to_json


def test_a_script_is_written_and_tried(cli: Cli, zoo: Path, tmp_path: Path) -> None:
    place = tmp_path / "script.py"
    answer = cli("repro", zoo / "residual", "eager", "-o", place, "--seconds", "0.1")
    assert answer.code == 1
    assert answer.out.startswith("does not show a problem: the same outputs, ")
    assert "class GraphModule" in place.read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".py"] == ["script.py"]


OWN = """
from graph_net.compilers import Compiler
from graph_net.graph.fx import to_fx


class Doubles(Compiler):
    name = "doubles"
    defaults = {"times": 2}

    def compile(self, job):
        forward = to_fx(job.graph).forward
        times = self.options["times"]
        return lambda inputs: [value * times for value in forward(*inputs)]
"""


@pytest.mark.parametrize(("options", "wrong"), [("", True), ("[times=1]", False)])
def test_a_compiler_of_ones_own_becomes_part_of_the_script(
    cli: Cli, zoo: Path, tmp_path: Path, options: str, wrong: bool
) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    own = f"{tmp_path / 'mine.py'}:Doubles{options}"
    place = tmp_path / "out" / "script.py"
    place.parent.mkdir()
    answer = cli("repro", zoo / "residual", own, "-o", place, "--seconds", "0.1")
    # Whether it is slower is the machine's to say.
    assert answer.out.startswith("shows: mismatch: output 0") is wrong, answer.err
    text = place.read_text("utf-8")
    assert "Eager against 'mine.py:Doubles'" in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nowhere", "inductor"], "nowhere does not exist"),
        (["ZOO/noisy", "tvm"], "not possible yet; it is for: eager, inductor"),
        (["ZOO/noisy", "inductor,eager"], "names 2 compilers"),
        (["ZOO/noisy", "glow"], "unknown compiler 'glow'"),
        (["ZOO/noisy", "inductor[mod=1]"], "inductor has no option 'mod'"),
    ],
)
def test_what_cannot_be_written_exits_with_2(
    cli: Cli, zoo: Path, words: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = cli("repro", *(word.replace("ZOO", str(zoo)) for word in words))
    assert answer.code == 2
    assert why in answer.err
    assert not list(tmp_path.glob("*.py"))


def test_a_graph_is_named_by_its_file_or_its_name_in_the_corpus(
    cli: Cli, zoo: Path, pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = read_sample(zoo / "residual")
    (tmp_path / "a.json").write_text(to_json(graph), "utf-8")
    (tmp_path / "a.bin").write_bytes(to_bytes(graph))
    monkeypatch.setenv("GRAPH_NET_CORPUS", str(pack))
    expected = to_json(Pack(pack).graph("residual"), indent=1)
    for place in (tmp_path / "a.json", tmp_path / "a.bin", "residual"):
        answer = cli("show", place, "--json")
        assert answer.code == 0
        assert answer.out.strip() == expected.strip()


def test_a_file_that_is_no_graph(cli: Cli, tmp_path: Path) -> None:
    for name in ("a.json", "a.bin"):
        (tmp_path / name).write_text("{}")
        answer = cli("repro", tmp_path / name, "eager")
        assert answer.code == 2
        assert answer.err.startswith("error: ")
        assert "Traceback" not in answer.err
