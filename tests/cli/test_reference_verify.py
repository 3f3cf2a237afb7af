"""``graph-net reference`` and ``verify``: a golden run made, held against, damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.calling import Cli
from graph_net.corpus.pack import PackWriter
from graph_net.golden.store import GoldenStore
from measure.asking import mine, small_graph

SLOW = """
import time
from graph_net.compilers import Compiler, Job, Runner
from graph_net.graph.fx import to_fx

class Slow(Compiler):
    name = "slow"

    def compile(self, job: Job) -> Runner:
        forward = to_fx(job.graph).forward
        def run(inputs):
            time.sleep(0.01)
            return forward(*inputs)
        return run
"""


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("golden") / "pack"
    with PackWriter(path) as writer:
        for size in (3, 4):
            writer.add(f"small{size}", small_graph(size))
    return path


def reference(cli: Cli, pack: Path, golden: Path, *words: str) -> tuple[int, str]:
    answer = cli("reference", pack, "--compiler", "eager", "-o", golden, "--threads", "1",
                 "--seconds", "0.1", "-j", "1", *words)  # fmt: skip
    return answer.code, answer.out + answer.err


@pytest.fixture
def golden(pack: Path, tmp_path: Path, cli: Cli) -> Path:
    """One golden run for all tests, copied: a test may damage it."""
    kept = pack.parent / "golden"
    if not kept.exists():
        code, text = reference(cli, pack, kept)
        assert code == 0, text
    return Path(shutil.copytree(kept, tmp_path / "golden"))


def test_the_same_machine_holds(golden: Path, cli: Cli) -> None:
    answer = cli("verify", golden, "-j", "1", "--margin", "1e9", "--json")
    assert answer.code == 0, answer.err
    first, second = json.loads(answer.out)
    assert (first["graph"], second["graph"]) == ("small3", "small4")
    assert first["outputs"] == "holds"
    assert first["same_bits"] is True
    assert first["verdict"] == "same"
    assert first["speed"]["low"] <= first["speed"]["value"] <= first["speed"]["high"]
    assert first["device"] == first["reference_device"]


def test_outputs_that_differ_are_a_regression_at_a_strict_level(golden: Path, cli: Cli) -> None:
    words = ("verify", golden, "-j", "1", "--limit", "1", "--margin", "1e9")
    answer = cli(*words, "--compiler", mine("Slightly"), "--t", "-4")
    assert answer.code == 1
    assert "differs" in answer.out
    answer = cli(*words, "--compiler", mine("Slightly"), "--t", "-2", "--json")
    assert answer.code == 0
    (found,) = json.loads(answer.out)
    assert found["t"] == pytest.approx(-3, abs=0.3)
    assert found["same_bits"] is False


def test_a_slower_run_is_a_regression_and_eager_beside_it_is_not(
    golden: Path, tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    answer = cli("verify", golden, "-j", "1", "--limit", "1", "--json", "--margin", "2",
                 "--compiler", f"{tmp_path}/slow.py:Slow")  # fmt: skip
    assert answer.code == 1
    (found,) = json.loads(answer.out)
    assert (found["outputs"], found["verdict"]) == ("holds", "slower")
    assert found["speed"]["high"] < found["eager"]["low"]


def test_a_failure_here_is_a_regression(golden: Path, cli: Cli) -> None:
    answer = cli("verify", golden, "-j", "1", "--compiler", mine("Crashes"))
    assert answer.code == 1
    assert "SIGSEGV" in answer.out


def test_damage_is_told_with_exit_code_2(golden: Path, cli: Cli) -> None:
    store = GoldenStore(golden)
    name = store.names()[0]
    with (golden / f"{name}.safetensors").open("r+b") as file:
        file.seek(-3, 2)
        file.write(b"x")
    answer = cli("verify", golden, "-j", "1", "--margin", "1e9")
    assert answer.code == 2
    assert f"{name}.safetensors is damaged" in answer.out.replace("\n", "")
    assert "1 damaged, 1 holds" in answer.err


def test_no_golden_run_is_one_sentence_and_exit_code_2(tmp_path: Path, cli: Cli) -> None:
    answer = cli("verify", tmp_path / "nothing")
    assert answer.code == 2
    assert "holds no golden run" in answer.err
    assert "Traceback" not in answer.err


def test_the_same_command_again_measures_nothing(golden: Path, pack: Path, cli: Cli) -> None:
    before = {name: GoldenStore(golden).read(name) for name in GoldenStore(golden).names()}
    code, text = reference(cli, pack, golden)
    assert code == 0
    assert "nothing to do" in text
    code, text = reference(cli, pack, golden, "--seed", "7")
    assert code == 1
    assert "another protocol" in text
    assert {name: GoldenStore(golden).read(name) for name in before} == before
    code, text = reference(cli, pack, golden, "--seed", "7", "--limit", "1", "--again")
    assert code == 0, text
    assert sorted(run.protocol.seed for _, run in GoldenStore(golden).runs()) == [0, 7]


def test_a_golden_run_is_of_one_compiler(pack: Path, tmp_path: Path, cli: Cli) -> None:
    answer = cli("reference", pack, "--compiler", "eager,inductor", "-o", tmp_path / "x")
    assert answer.code == 1
    assert "one compiler" in answer.err
