"""``graph-net bisect`` on graphs that a defective compiler cannot take."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.calling import Cli
from graph_net.corpus.pack import PackWriter
from graph_net.graph import Graph, Input, Node, Normal, Ref, TensorSpec, from_json
from graph_net.graph.graph import Level
from graph_net.measure.device import describe
from graph_net.results import Config, ConfigKind, Failure, Record, Stage, Subject, Symptom, to_json

FILE = Path(__file__).parents[1] / "bisect" / "defects.py"
RAISES = f"{FILE}:RaisesOnExpOfRelu"
SPEC = TensorSpec((2, 3), "float32")


def chain(*operators: str) -> Graph:
    nodes, before = [], "x"
    for i, operator in enumerate(operators):
        nodes.append(Node(f"n{i}", f"aten.{operator}.default", (Ref(before),), result=SPEC))
        before = f"n{i}"
    return Graph((Input("x", SPEC, Normal(0.0, 1.0)),), tuple(nodes), (Ref(before),), Level.ATEN)


def crashed(config: Config) -> Record:
    """What a file may say of the graph ``one``."""
    subject = Subject("id", "structure", "one")
    failure = Failure(Stage.COMPILE, Symptom.EXCEPTION, "it raised", "it raised")
    return Record(subject, config, describe("cpu"), "p", failure)


@pytest.fixture
def three(tmp_path: Path) -> Path:
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("one", chain("neg", "relu", "exp"))
        writer.add("two", chain("relu", "exp", "cos", "cos"))
        writer.add("good", chain("sin", "cos"))
    return tmp_path / "pack"


def test_a_witness_is_printed_and_stored(cli: Cli, three: Path, tmp_path: Path) -> None:
    answer = cli("bisect", f"{three}:two", RAISES, "-o", tmp_path / "found", "-j", "1")
    assert answer.code == 0
    assert answer.out == "n0 = aten.relu.default(x)\nn1 = aten.exp.default(n0)\n"
    assert "2 of 4 calls" in answer.err
    assert "no script: " in answer.err
    (stored,) = (tmp_path / "found").iterdir()
    assert len(from_json(stored.read_text("utf-8")).nodes) == 2
    shown = cli("show", stored)
    assert shown.code == 0


def test_a_run_gives_one_cluster(cli: Cli, three: Path, tmp_path: Path) -> None:
    records, found = tmp_path / "records", tmp_path / "found"
    words = ("--compilers", RAISES, "-o", records, "--seconds", "0.05", "-j", "1")
    assert cli("bench", three, *words).code == 0
    crashes = ("--records", records, "--problem", "crash", "-o", found, "-j", "1")
    answer = cli("bisect", three, RAISES, *crashes)
    assert answer.code == 0
    assert "2 of 2 have a witness" in answer.err
    (row,) = [line for line in answer.out.splitlines() if "aten.relu.default" in line]
    assert [cell.strip() for cell in row.split("│")][3:5] == ["2", "2"]


@pytest.mark.parametrize(
    "config",
    [
        Config(ConfigKind.COMPILER, "EVIL:Evil"),
        Config(
            ConfigKind.COMPILER, "inductor", "", {"mode": "default", "cpp.march": "x -wrapper EVIL"}
        ),
    ],
    ids=["imports", "starts"],
)
def test_a_record_imports_no_file_and_starts_no_program(
    cli: Cli, three: Path, tmp_path: Path, config: Config
) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(f"#!{sys.executable}\nopen({str(tmp_path / 'harmed')!r}, 'w')\n")
    evil.chmod(0o755)
    text = to_json(crashed(config)).replace("EVIL", str(evil))
    harmless = to_json(crashed(Config(ConfigKind.COMPILER, "eager")))
    (tmp_path / "lines.jsonl").write_text(f"{text}\n{harmless}\n")
    records, found = tmp_path / "records", tmp_path / "found"
    assert cli("ingest", tmp_path / "lines.jsonl", "-o", records).code == 0
    answer = cli("bisect", three, "--records", records, "-o", found, "-j", "1")
    assert answer.code == 1
    assert "one is skipped: " in answer.err
    assert "on the command line" in answer.err
    assert "1 of 1: eager on one" in answer.err  # the rest goes on
    assert not (tmp_path / "harmed").exists()


def test_a_record_of_ones_own_compiler_is_passed_over_with_the_way_out(
    cli: Cli, three: Path, tmp_path: Path
) -> None:
    (tmp_path / "lines.jsonl").write_text(
        f"{to_json(crashed(Config(ConfigKind.COMPILER, RAISES)))}\n"
    )
    assert cli("ingest", tmp_path / "lines.jsonl", "-o", tmp_path / "records").code == 0
    words = ("--records", tmp_path / "records", "-o", tmp_path / "found", "-j", "1")
    assert "name it on the command line" in cli("bisect", three, *words).err
    assert cli("bisect", three, RAISES, *words).code == 0


def test_what_does_not_show_is_an_answer(cli: Cli, three: Path, tmp_path: Path) -> None:
    answer = cli("bisect", f"{three}:good", RAISES, "--problem", "crash", "-j", "1")
    assert answer.code == 1
    assert "good does not show crash" in answer.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["bisect"], "name GRAPH and COMPILER"),
        (["bisect", "g", "eager", "--problem", "ugly"], "unknown problem 'ugly'"),
        (["bisect", "g", "eager,inductor"], "names 2 compilers"),
        (["bisect", "--records", "nowhere"], "holds no records"),
        (["bisect", "no/such/graph", "eager"], "does not exist"),
    ],
)
def test_a_question_that_makes_no_sense(cli: Cli, words: list[str], sentence: str) -> None:
    answer = cli(*words)
    assert answer.code == 2
    assert sentence in answer.err
    assert answer.err.count("\n") == 1
