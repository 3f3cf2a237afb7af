"""``test_reference_device`` and ``test_target_device``: GraphNet's flags, logs, and answers."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from graph_net.formats.graphnet.log_reader import LogStatus, read_log, samples_of
from graph_net.formats.graphnet.write import write_sample
from graph_net.golden.store import GoldenStore
from graph_net.results import canonical
from graph_net.score import load
from graph_net.torch import test_reference_device as reference
from graph_net.torch import test_target_device as target
from graph_net.torch.device_tests import choose_samples, compiler_options, sample_name
from measure.asking import mine, small_graph

PROMPT = "graph-net-test-device-log"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two samples, and what the reference device gave for them."""
    root = tmp_path_factory.mktemp("device")
    for size in (3, 4):
        write_sample(small_graph(size), root / "torch_samples" / f"model{size}")
    samples, directory = root / "torch_samples", root / "reference"
    words = ["--model-path", str(samples), "--reference-dir", str(directory), "--seed", "5"]
    words += ["--compiler", "nope", "--device", "cpu", "--warmup", "2", "--trials", "6"]
    assert reference.main(words) == 0
    return samples, directory


def held(made: tuple[Path, Path], capsys: pytest.CaptureFixture[str], *words: str) -> str:
    samples, directory = made
    capsys.readouterr()
    asked = ["--model-path", str(samples), "--reference-dir", str(directory), "--device", "cpu"]
    assert target.main([*asked, *words]) == 0
    return capsys.readouterr().err


def in_order(text: str, wanted: list[str]) -> None:
    place = 0
    for pattern in wanted:
        found = re.compile(pattern).search(text, place)
        assert found, pattern
        place = found.start()


def test_a_reference_leaves_a_golden_run_and_a_log_a_sample(made: tuple[Path, Path]) -> None:
    samples, directory = made
    runs = [run for _, run in GoldenStore(directory).runs()]
    assert len(runs) == 2
    assert {run.protocol.seed for run in runs} == {5}
    assert runs[0].asked == {"warmup": 2, "trials": 6, "op_lib": "default"}
    log = (directory / "model3.log").read_text()
    in_order(log, [
        rf"{PROMPT} \[Processing\] {samples}/model3",
        rf"{PROMPT} \[Config\] compiler: nope", rf"{PROMPT} \[Config\] warmup: 2",
        rf"{PROMPT} \[Config\] trials: 6", rf"{PROMPT} \[Config\] seed: 5",
        rf"{PROMPT} \[Config\] op_lib: default", r"Trial 1: e2e=[\d.e-]+ ms",
        rf"{PROMPT} \[Result\]\[status\] eager:success",
        rf'{PROMPT} \[Performance\]\[eager\]: {{"e2e": {{"median": ',
    ])  # fmt: skip
    assert "[Speedup]" not in log
    assert list(read_log(directory / "model3.log")) == []


def test_a_target_gives_graphnets_lines_and_the_right_answer(
    made: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = held(made, capsys, "--op-lib", "origin")
    in_order(text, [
        rf"{PROMPT} \[Processing\] .*model3", rf"{PROMPT} \[Config\] device: cpu",
        rf"{PROMPT} \[Config\] compiler: nope", rf"{PROMPT} \[Config\] warmup: 2",
        rf"{PROMPT} \[Config\] seed: 5", rf"{PROMPT} \[Config\] op_lib: default",
        rf"{PROMPT} \[Result\]\[status\] eager:success compiled:success",
        rf"{PROMPT} \[Datatype\]\[eager\]: float32", rf"{PROMPT} \[Datatype\]\[compiled\]: float32",
        rf"{PROMPT} \[DataType\] eager:\['float32'\] compiled:\['float32'\] match:True",
        rf"{PROMPT} \[Shape\]\[eager\]: \[\[2, 3\]\]",
        rf"{PROMPT} \[Shape\] eager:\[\[2, 3\]\] compiled:\[\[2, 3\]\] match:True",
        rf"{PROMPT} \[Correctness\]\[equal\]: 1", rf"{PROMPT} \[Correctness\]\[max_diff\]: 0.0",
        rf"{PROMPT} \[Performance\]\[eager\]: ", rf"{PROMPT} \[Performance\]\[compiled\]: ",
        rf"{PROMPT} \[Speedup\]\[e2e\]: \d",
    ])  # fmt: skip
    (tmp_path / "target.log").write_text(text)
    found = list(read_log(tmp_path / "target.log"))
    assert [(each.status, each.t) for each in found] == [(LogStatus.CORRECT, -64.0)] * 2
    stats = re.findall(r"\[Performance\]\[(\w+)\]: (.*)", text)
    median = {word: json.loads(tree)["e2e"]["median"] for word, tree in stats[:2]}
    assert found[0].speedup == pytest.approx(median["eager"] / median["compiled"], rel=1e-4)
    (curve,) = load([tmp_path / "target.log"]).values()
    assert len(curve.t) == 2


@pytest.mark.parametrize(
    ("compiler", "status", "line"),
    [
        ("Raises", LogStatus.COMPILE, "eager:success compiled:failed"),
        ("CrashesWhenRun", LogStatus.RUNTIME, "Error: died of SIGILL"),
        ("WrongShape", LogStatus.SHAPE, "match:False"),
        ("WrongDtype", LogStatus.TYPE, "match:False"),
        ("Slightly", LogStatus.CORRECT, "compiled:success"),
    ],
)
def test_what_goes_wrong_on_the_target_is_read_as_what_it_is(
    made: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    compiler: str,
    status: LogStatus,
    line: str,
) -> None:
    """The device is the same, so its compiler stands for what is broken there."""
    samples, directory = made
    text = held((samples / "model3", directory), capsys, "--compiler", mine(compiler))
    assert line in text
    (found,) = samples_of(text.splitlines())
    assert found.status is status
    if status is LogStatus.CORRECT:
        assert found.t == -3.0  # 1e-3 is what level -3 lets pass


def test_a_reference_names_no_file_to_import(
    made: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even where other options are given for its compiler."""
    samples, directory = made
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'harmed')!r}, 'w')")
    place = Path(shutil.copytree(directory, tmp_path / "reference"))
    for file in place.glob("*.json"):
        tree = json.loads(file.read_text())["run"]
        tree["record"]["config"]["name"] = f"{tmp_path}/evil.py:Evil"
        sealed = {"run": tree, "sha256": sha256(canonical(tree).encode()).hexdigest()}
        file.write_text(json.dumps(sealed))
    words = ["--model-path", str(samples), "--reference-dir", str(place), "--device", "cpu"]
    assert target.main([*words, "--config", '{"a": 1}']) == 2
    assert "name it on the command line" in capsys.readouterr().err
    assert target.main(words) == 0
    assert "is left out: the compiler " in capsys.readouterr().err
    assert not (tmp_path / "harmed").exists()


def test_damage_of_a_reference_is_told(
    made: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples, directory = made
    place = Path(shutil.copytree(directory, tmp_path / "reference"))
    first, second = sorted(place.glob("*.json"))
    first.write_text("{}")
    second.with_suffix(".safetensors").write_bytes(b"")
    text = held((samples, place), capsys)
    assert f"{first.name} is damaged" in text
    assert f"is left out: {second.stem}.safetensors is damaged" in text


def test_samples_are_found_by_what_they_compute(
    made: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples, directory = made
    shutil.copytree(samples / "model3", tmp_path / "elsewhere" / "renamed")
    write_sample(small_graph(7), tmp_path / "elsewhere" / "unknown")
    text = held((tmp_path / "elsewhere", directory), capsys)
    assert text.count("[Processing]") == 1
    assert "renamed" in text
    assert "unknown is left out: the reference does not have it" in text


def test_an_allow_list_takes_paths_that_begin_anywhere(
    made: tuple[Path, Path], tmp_path: Path
) -> None:
    samples, _ = made
    for line in ("model4", str(samples / "model4"), "model4/"):
        (tmp_path / "list").write_text(f"{line}\n")
        assert choose_samples(str(samples), str(tmp_path / "list")) == [samples / "model4"]


def test_mistakes_are_one_line_and_exit_code_2(
    made: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples, directory = made
    common = ["--model-path", str(samples), "--reference-dir"]
    for command, words, said in (
        (target, [*common, str(tmp_path / "no"), "--device", "cpu"], "holds no golden run"),
        (target, [*common, str(directory), "--op-lib", "flaggems"], "flaggems"),
        (reference, [*common, str(tmp_path), "--compiler", "what"], "unknown compiler"),
        (reference, [*common, str(tmp_path), "--config", "%%%"], "base64"),
    ):
        assert command.main(words) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.startswith("error: ")
        assert error.count("\n") == 1


def test_options_come_as_json_a_file_or_base64(tmp_path: Path) -> None:
    (tmp_path / "options.json").write_text('{"a": 1}')
    for given in ('{"a": 1}', str(tmp_path / "options.json"), "eyJhIjogMX0="):
        assert json.loads(compiler_options(given)) == {"a": 1}
    assert compiler_options(None) == ""
    assert sample_name("x/torch_samples/timm/resnet18") == "timm_resnet18"
