"""``graph-net learn`` and ``graph-net evaluate`` as a user calls them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import graph_net as gn
from cli.calling import Cli
from graph_net.api.learn import load_model
from graph_net.learn.read_set import read_set
from graph_net.programs.triton.features import NAMES
from learn.some_records import data_set, records
from programs.features.some_programs import program, stored, trace

pytest.importorskip("lightgbm")
QUICK = "lightgbm[rounds=40,least_in_leaf=3,threads=1]"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return records(tmp_path_factory.mktemp("learn") / "records")


@pytest.fixture(scope="module")
def model(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "model"
    gn.learn(place, QUICK, output=folder, progress=False)
    return folder


def test_a_model_is_learned_scored_and_saved_with_its_card(
    cli: Cli, place: Path, tmp_path: Path
) -> None:
    answer = cli("learn", place, "--model", QUICK, "-o", tmp_path / "model", "--seed", "3")
    assert answer.code == 0, answer.err
    told = f"learning from 180 programs of 6 tasks on h200, {len(NAMES)} features (triton)"
    assert told in answer.err
    for words in ("best/picked at 1", "top-5, pooled", "RMSE", "matmul", "softmax", "ceiling"):
        assert words in answer.out
    assert "90 programs of 3 tasks" in answer.out
    assert load_model(tmp_path / "model").seed == 3
    card = (tmp_path / "model/README.md").read_text("utf-8")
    for words in (
        "# Cost model: lightgbm",
        "rounds = 40",
        "180 programs of 6 tasks",
        "| seed | 3 |",
    ):
        assert words in card
    for words in (
        "Operators: matmul, softmax.",
        "Platforms: h200.",
        "| split | network |",
        "sha256",
    ):
        assert words in card


def test_a_card_says_where_scores_depend_on_what_is_asked_together(
    model: Path, place: Path, tmp_path: Path
) -> None:
    gn.learn(place, "relative[rounds=5,threads=1]", output=tmp_path / "model", progress=False)
    said = "depend on which programs of a task are asked about together"
    assert said in (tmp_path / "model/README.md").read_text("utf-8")
    assert said not in (model / "README.md").read_text("utf-8")


def test_what_is_easy_to_learn_is_learned(model: Path, place: Path) -> None:
    score = gn.evaluate(model, place, progress=False).evaluation.score("best/picked at 5")
    assert score.value > (score.random + score.best) / 2


def test_a_saved_model_scores_as_it_did_when_it_was_learned(place: Path, tmp_path: Path) -> None:
    learned = gn.learn(place, QUICK, output=tmp_path / "model", progress=False)
    judged = gn.evaluate(tmp_path / "model", place, progress=False)
    assert judged.split == "network"
    assert judged.evaluation == learned.evaluation
    assert not any("has learned from" in doubt for doubt in judged.doubts)
    assert gn.evaluate(learned, place, progress=False).evaluation == learned.evaluation


def test_evaluate_prints_scores_and_pairs(cli: Cli, model: Path, place: Path) -> None:
    answer = cli("evaluate", model, place, "--against", model)
    assert answer.code == 0, answer.err
    assert "model, split network" in answer.out
    assert "best/picked: model - model" in answer.out
    assert "no significant difference" in answer.out
    assert "one task" in answer.out


def test_scores_as_json_are_json(cli: Cli, model: Path, place: Path) -> None:
    tree = json.loads(cli("evaluate", model, place, "--json", "--against", model).out)
    assert tree["split"] == "network"
    assert tree["evaluation"]["tasks"] == 3
    assert {"all", "matmul", "softmax"} == {
        one["kind"] for one in tree["comparison"]["differences"]["1"]
    }


def test_a_model_asked_about_what_it_learned_says_so(cli: Cli, model: Path, place: Path) -> None:
    answer = cli("evaluate", model, place, "--split", "none")
    assert answer.code == 0
    assert "warning: 6 of 9 tasks compute what it has learned from" in answer.err


def test_a_model_asked_outside_its_domain_says_so_and_goes_on(
    cli: Cli, model: Path, tmp_path: Path
) -> None:
    other = records(tmp_path / "elsewhere", device="mi300")
    answer = cli("evaluate", model, other)
    assert answer.code == 0
    assert "warning: platforms never seen in training: mi300" in answer.err
    assert "split none" in answer.out


def test_a_model_of_other_features_is_one_sentence(
    cli: Cli, place: Path, model: Path, tmp_path: Path
) -> None:
    found = [program(trace(2 * n, 32), 0.5 + n) for n in range(1, 5)]
    answer = cli("evaluate", model, stored(tmp_path / "traces", found))
    assert answer.code == 1
    assert "tasks of metaschedule have no features triton; they have: primitives" in answer.err
    gn.learn(tmp_path / "traces", QUICK, split="none", output=tmp_path / "other", progress=False)
    answer = cli("evaluate", model, place, "--against", tmp_path / "other")
    assert answer.code == 1
    assert "compute the features it knows" in " ".join(answer.err.split())


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--model", "oracle"], "unknown cost model 'oracle'; known: lightgbm"),
        (["--model", "lightgbm[rounds=0]"], "lightgbm's rounds is a whole number from 1"),
        (["--model", "lightgbm[rounds=9"], "is not a model; write lightgbm[rounds=300"),
        (["--split", "luck"], "unknown split 'luck'; available: network"),
        (["--features", "luck"], "unknown features 'luck'"),
    ],
)
def test_a_wrong_word_is_one_sentence(cli: Cli, place: Path, words: list[str], why: str) -> None:
    answer = cli("learn", place, *words)
    assert answer.code == 1
    assert why in " ".join(answer.err.split())
    assert answer.err.count("error:") == 1


def test_wrong_data_are_one_sentence(cli: Cli, tmp_path: Path, model: Path) -> None:
    assert "no directory with programs in it" in " ".join(cli("learn", tmp_path).err.split())
    answer = cli("learn", tmp_path / "nowhere")
    assert "is neither a directory nor a platform" in " ".join(answer.err.split())
    assert "holds no model" in " ".join(cli("evaluate", tmp_path, tmp_path).err.split())


@pytest.mark.parametrize("name", ["model.json", "training.json", "trees.txt"])
def test_a_damaged_model_is_one_sentence(
    cli: Cli, place: Path, model: Path, tmp_path: Path, name: str
) -> None:
    broken = Path(shutil.copytree(model, tmp_path / "broken"))
    (broken / name).write_text("{")
    answer = cli("evaluate", broken, place)
    assert answer.code == 1
    assert name in " ".join(answer.err.split())
    assert "Traceback" not in answer.err


def test_a_folder_that_is_there_is_not_written_over(cli: Cli, place: Path, model: Path) -> None:
    answer = cli("learn", place, "--model", QUICK, "-o", model)
    assert answer.code == 1
    assert "name a new folder for the model" in " ".join(answer.err.split())


def test_the_same_seed_learns_the_same_model(place: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        gn.learn(place, QUICK, seed=5, output=tmp_path / name, command="x", progress=False)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_a_part_set_aside_decides_when_to_stop(place: Path) -> None:
    learned = gn.learn(place, QUICK, validation=0.4, progress=False)
    assert learned.model.learned().tasks < 6


def test_platforms_of_a_data_set_are_learned_across(cli: Cli, tmp_path: Path) -> None:
    answer = cli(
        "learn", data_set(tmp_path / "set"), "--model", QUICK, "--split", "platform:second"
    )
    assert answer.code == 0, answer.err
    assert "learning from 270 programs of 9 tasks on first" in answer.err


KILLED = """
import signal, sys
from pathlib import Path
from graph_net.learn import trees
save = trees.LightGbm.save_parts
def slow(self, folder):
    save(self, folder)
    Path(sys.argv[2]).write_text("saving")
    signal.pause()
trees.LightGbm.save_parts = slow
import graph_net as gn
gn.learn(sys.argv[1], "lightgbm[rounds=2,threads=1]", output=sys.argv[3], progress=False)
"""


def test_a_killed_run_leaves_no_half_model(place: Path, tmp_path: Path) -> None:
    mark, folder = tmp_path / "mark", tmp_path / "model"
    running = subprocess.Popen([sys.executable, "-c", KILLED, place, mark, folder])
    while not mark.exists() and running.poll() is None:
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert mark.exists()
    assert not folder.exists()
    gn.learn(place, QUICK, output=folder, progress=False)
    assert load_model(folder).predict(read_set(place).data).size == 270
