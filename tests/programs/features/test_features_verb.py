"""``graph-net programs features``, as far as it can go without TVM."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from graph_net.cli.programs_features import make_features
from graph_net.programs.features.failures import Lost
from graph_net.programs.features.feature_kinds import METASCHEDULE
from graph_net.programs.features.feature_store import FeatureStore
from graph_net.programs.features.training_batches import programs_by_key
from graph_net.results import Program, Task
from programs.features.some_programs import program, stored, trace


def call(*words: object) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(make_features)
    answer = CliRunner().invoke(app, [str(word) for word in words])
    return answer.exit_code, answer.output


def test_primitives_are_made_and_kept(tmp_path: Path) -> None:
    records = stored(tmp_path / "records", [program(trace(2), 1.0), program(trace(4), 2.0)])
    for _ in range(2):
        assert call(records, "-o", tmp_path / "features")[0] == 0
    store = FeatureStore(tmp_path / "features")
    assert (store.count(METASCHEDULE), len(store.parts(METASCHEDULE))) == (2, 1)


def test_what_was_tried_again_is_told_once(tmp_path: Path) -> None:
    records = stored(tmp_path / "records", [program(trace(2), 1.0), program(trace(4), 2.0)])
    first, _ = programs_by_key(records, METASCHEDULE).program.tolist()
    store = FeatureStore(tmp_path / "features")
    store.add(METASCHEDULE, [((first,), Lost("too slow")), ((7,), Lost("not there any more"))])
    said = call(records, "-o", tmp_path / "features")[1]
    assert "1 with features, 2 without" in said
    assert "1 × too slow" in said
    said = call(records, "-o", tmp_path / "features", "--retry")[1]
    assert "2 with features, 1 without" in said
    assert "too slow" not in said


def test_programs_without_primitives_are_counted(tmp_path: Path) -> None:
    task = Task("t4", "convolution", "", "", "{}")
    records = stored(tmp_path / "records", [Program.from_log(task, '{"block":4}', (1.0,))])
    code, output = call(records, "-o", tmp_path / "features")
    assert code == 0
    assert "1 programs have no primitives" in output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--kind", "nothing"), "available: primitives"),
        (("--kind", ","), "available: primitives"),
        (("--kind", "graph"), "--graphs"),
        ((), "holds no programs"),
    ],
)
def test_mistakes_are_told_in_a_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    code, output = call(tmp_path, "-o", tmp_path / "features", *words)
    assert code == 2
    assert said in " ".join(output.replace("│", " ").split())
    assert "Traceback" not in output
