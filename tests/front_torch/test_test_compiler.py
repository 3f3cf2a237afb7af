"""``python -m graph_net.torch.test_compiler``: GraphNet's flags and its log."""

from __future__ import annotations

import base64
import json
import re
import shutil
from pathlib import Path

import pytest

from graph_net.formats.graphnet.log_reader import LogStatus, read_log
from graph_net.formats.graphnet.write import write_sample
from graph_net.torch.test_compiler import main
from measure.asking import mine, small_graph

PROMPT = "graph-net-test-compiler-log"


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("samples")
    for size in (3, 4):
        write_sample(small_graph(size), root / f"model{size}")
    return root


def log(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words, "--device", "cpu"]) == 0
    return capsys.readouterr().err


def test_a_sample_alone_gives_graphnets_lines(
    samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = log(capsys, "--model-path", str(samples / "model3"), "--compiler", "nope")
    wanted = [
        rf"{PROMPT} \[Processing\] .*model3",
        rf"{PROMPT} \[Config\] model: ",
        rf"{PROMPT} \[Config\] device: cpu",
        rf"{PROMPT} \[Config\] hardware: \S",
        rf"{PROMPT} \[Config\] compiler: nope",
        rf"{PROMPT} \[Config\] warmup: 3",
        rf"{PROMPT} \[Config\] trials: 5",
        rf"{PROMPT} \[Config\] compile_framework_version: 2\.",
        r"\[Profiling\] Using device: cpu .*, warm up 3, trials \d+",
        r"Trial 1: e2e=[\d.e-]+ ms",
        rf"{PROMPT} \[Datatype\]\[eager\]: float32",
        rf"{PROMPT} \[Datatype\]\[compiled\]: float32",
        rf"{PROMPT} \[DataType\] eager:\['float32'\] compiled:\['float32'\] match:True",
        rf"{PROMPT} \[Correctness\]\[equal\]: 1",
        rf"{PROMPT} \[Correctness\]\[all_close_atol_1.00E-10_rtol_1.69E-12\]: 1",
        rf"{PROMPT} \[Correctness\]\[max_diff\]: 0.0",
        rf"{PROMPT} \[Correctness\]\[mean_diff\]: 0.0",
        rf"{PROMPT} \[Result\] status: success",
        rf'{PROMPT} \[Performance\]\[eager\]: {{"e2e": {{"median": ',
        rf"{PROMPT} \[Performance\]\[compiled\]: ",
        rf"{PROMPT} \[Speedup\]\[e2e\]: \d",
    ]
    place = 0
    for pattern in wanted:
        found = re.compile(pattern).search(text, place)
        assert found, pattern
        place = found.start()
    assert text.count("[Correctness][all_close") == 16 * 4


def test_a_directory_is_walked_and_equal_graphs_are_both_told(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(samples, tmp_path / "all")
    shutil.copytree(samples / "model3", tmp_path / "all" / "again")
    text = log(capsys, "--model-path", str(tmp_path / "all"), "--compiler", "nope")
    assert text.count("[Processing]") == 3
    assert "again" in text


def test_an_allow_list_chooses(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "list").write_text("model4\n\n")
    words = ["--allow-list", str(tmp_path / "list"), "--model-path-prefix", str(samples)]
    text = log(capsys, "--model-path", str(samples), "--compiler", "nope", *words)
    assert text.count("[Processing]") == 1
    assert "model4" in text


@pytest.mark.parametrize(
    ("compiler", "status"),
    [
        ("Faithful", LogStatus.CORRECT),
        ("Raises", LogStatus.COMPILE),
        ("Crashes", LogStatus.COMPILE),
        ("Refuses", LogStatus.COMPILE),
        ("CrashesWhenRun", LogStatus.RUNTIME),
        ("WrongDtype", LogStatus.TYPE),
    ],
)
def test_graphnets_parser_gets_every_failure_right(
    compiler: str,
    status: LogStatus,
    samples: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = log(capsys, "--model-path", str(samples / "model3"), "--compiler", mine(compiler))
    (tmp_path / "log").write_text(text)
    (sample,) = read_log(tmp_path / "log")
    assert sample.status is status


def test_a_sample_that_cannot_be_read_stays_in_the_count(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(samples, tmp_path / "all")
    source = tmp_path / "all" / "model3" / "model.py"
    source.write_text(source.read_text().replace("return", "import os\n        return"))
    text = log(capsys, "--model-path", str(tmp_path / "all"), "--compiler", "nope")
    (tmp_path / "log").write_text(text)
    statuses = {sample.status for sample in read_log(tmp_path / "log")}
    assert statuses == {LogStatus.CORRECT, LogStatus.EAGER}


def test_options_come_as_json_in_base64(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = base64.b64encode(json.dumps({"lunch": 1}).encode()).decode()
    words = ["--model-path", str(samples / "model3"), "--device", "cpu", "--compiler"]
    assert main([*words, "nope", "--config", bad]) == 1
    assert "no option 'lunch'" in capsys.readouterr().err
    assert main([*words, "nope", "--config", "!"]) == 1
    assert "base64" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model-path", "/nowhere"], "is not a sample"),
        (["--model-path", "{samples}", "--compiler", "lunch"], "unknown compiler 'lunch'"),
        (["--model-path", "{samples}", "--allow-list", "/nowhere"], "/nowhere"),
    ],
)
def test_mistakes_are_one_sentence(
    words: list[str], message: str, samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word.format(samples=samples) for word in words]
    assert main([*given, "--device", "cpu"]) == 1
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
