"""GraphNet's log, read back: upstream's rules, junk, and what our own writer wrote."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.formats.graphnet.log import LogHeader, log_lines, tolerance_key
from graph_net.formats.graphnet.log_reader import (
    LogSample,
    LogStatus,
    read_log,
    sample_of_result,
    samples_of,
)
from graph_net.results import Output, Stage, Symptom
from graph_net.score import Fault, columns, load, sample_of, score
from graph_net.score.load import sample_of_log
from score.some_samples import record
from score.test_records_scored import KINDS

START = "P [Processing] samples/timm/resnet18"
EAGER, COMPILED = "P [Datatype][eager]: float32", "P [Datatype][compiled]: float32"
MATCH = "P [DataType] eager:['float32'] compiled:['float32'] match:True"
CLOSE = "P [Correctness][equal]: 0"
SPEED = "P [Speedup][e2e]: 1.5"


def close(t: int, family: str = "float32", bits: str = "1") -> str:
    return f"P [Correctness][{tolerance_key(t, family)}]: {bits}"


def one(*lines: str) -> LogSample:
    (found,) = samples_of([f"{line}\n" for line in (START, *lines)])
    return found


GOOD = (EAGER, COMPILED, MATCH, CLOSE, close(-4, bits="0"), close(-3), close(-2), SPEED)


def test_a_good_sample() -> None:
    found = one("P [Config] model: resnet18", *GOOD)
    assert found.status is LogStatus.CORRECT
    assert (found.path, found.speedup, found.t) == ("samples/timm/resnet18", 1.5, -3.0)
    assert found.config == {"model": "resnet18"}


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((), LogStatus.EAGER),
        (("RuntimeError: environment",), LogStatus.EAGER),
        ((EAGER,), LogStatus.COMPILE),
        ((EAGER, "BackendCompilerFailed: Error: no"), LogStatus.COMPILE),
        ((EAGER, COMPILED, "ValueError: no"), LogStatus.RUNTIME),
        ((*GOOD, "SomeException: late"), LogStatus.RUNTIME),
        ((*GOOD, "P [Shape] eager:[[2]] compiled:[[3]] match:False"), LogStatus.SHAPE),
        ((EAGER, COMPILED, MATCH.replace("True", "False"), CLOSE, SPEED), LogStatus.TYPE),
        (GOOD[:-1], LogStatus.RUNTIME),
        ((*GOOD[:-1], "P [Speedup][e2e]: nan"), LogStatus.RUNTIME),
        (GOOD[2:], LogStatus.CORRECT),
    ],
)
def test_how_a_sample_is_judged(lines: tuple[str, ...], status: LogStatus) -> None:
    assert one(*lines).status is status


def test_every_output_has_to_pass_by_its_own_dtype() -> None:
    dtypes = ("P [Datatype][eager]: float16 int64", "P [Datatype][compiled]: float16 int64")
    head = (*dtypes, "P [DataType] eager:[] compiled:[] match:True", SPEED)
    passing = one(*head, "P [Correctness][equal]: 0 1", close(-2, "float16", "1 0"))
    assert passing.t == -2.0
    # An integer has no tolerance, and float32's are not float16's.
    assert one(*head, "P [Correctness][equal]: 0 0", close(-2, "float16", "1 1")).t is None
    assert one(*head, "P [Correctness][equal]: 0 1", close(-2, "float32", "1 1")).t is None


def test_equal_outputs_pass_below_every_level() -> None:
    assert one(*GOOD, "P [Correctness][equal]: 1").t == -64.0


def test_no_output_at_all_is_no_error() -> None:
    assert one(EAGER, COMPILED, MATCH, close(0, bits=""), SPEED).t == -64.0


def test_an_output_that_never_passes_for_a_nan() -> None:
    never = (EAGER, COMPILED, MATCH, CLOSE, close(0, bits="0"), SPEED)
    assert one(*never, "P [Correctness][max_diff]: 9.5").finite
    assert not one(*never, "P [Correctness][max_diff]: nan").finite


@given(st.lists(st.one_of(st.text(max_size=40), st.sampled_from(GOOD)), max_size=20))
def test_any_lines_are_read(lines: list[str]) -> None:
    assert len(list(samples_of([START, *lines]))) >= 1


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="[:"), max_size=30), max_size=9))
def test_junk_changes_nothing(junk: list[str]) -> None:
    lines = [line for good in GOOD for line in (*junk, good)]
    assert one(*lines) == one(*GOOD)


def test_bytes_that_are_no_text_and_long_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    junk = b"\xff\xfe\x00\n" + b"x" * (3 << 20) + b"\n"
    path.write_bytes(junk + "\n".join((START, *GOOD)).encode() + b"\n" + junk)
    assert [found.t for found in read_log(path)] == [-3.0]


CUT_OFF = "internetoftim_dinov2-base"
FAILED = {
    "slice": (3, [CUT_OFF]),
    "whole": (11, ["hf-tiny-model-private_tiny-random-Swinv2ForImageClassification", CUT_OFF]),
}


def test_upstreams_log_has_its_samples(real_files: Path, extent: str) -> None:
    samples = list(read_log(real_files / "graphnet/inductor_h200.log"))
    failed = [s.path.rsplit("/", 1)[-1] for s in samples if s.status is LogStatus.EAGER]
    assert (len(samples), failed) == FAILED[extent]


@pytest.mark.parametrize("failure", [None, *KINDS])
def test_a_record_comes_back_from_its_log(failure: tuple[Stage, Symptom] | None) -> None:
    written = record("timm/resnet18", failure, t=-5.5)
    (read,) = samples_of(log_lines(written, "samples/timm/resnet18", LogHeader()))
    want, got = sample_of(written), sample_of_log(read)
    assert want is not None
    assert got.fault is want.fault
    # A log knows whole levels only, so the next one at which the record passes.
    assert got.t == (None if want.t is None else math.ceil(want.t))
    if want.fault is Fault.NONE:
        assert got.speedup == pytest.approx(want.speedup, rel=1e-5)
    assert score(columns([got])).es[0] == pytest.approx(score(columns([want])).es[0], rel=1e-5)


def test_a_level_between_two_is_written_at_the_upper_one() -> None:
    outputs = tuple(Output("float32", (), t, 0.1, 0.1, t_of=(t,) * 4) for t in (-64.0, -3.0, -1.2))
    (read,) = samples_of(log_lines(record("m", outputs=outputs), "m", LogHeader()))
    assert read.t == -1.0


def test_a_message_that_looks_like_a_log_starts_no_sample() -> None:
    from dataclasses import replace

    failed = record("m", (Stage.COMPILE, Symptom.EXCEPTION))
    assert failed.failure is not None
    said = replace(failed.failure, message=f"{START} {EAGER} {COMPILED} Error: x")
    lines = log_lines(replace(failed, failure=said), "m", LogHeader())
    assert [found.status for found in samples_of(lines)] == [LogStatus.COMPILE]


def result(**performance: object) -> dict[str, object]:
    known: dict[str, object] = {"speedup": {"e2e": 1.5}}
    known["datatype"] = {"eager": ["float32"], "compiled": ["float32"]}
    passes = {f"[{tolerance_key(t, 'float32')}]": [int(t >= -3)] for t in range(-10, 6)}
    return {
        "configuration": {"model": "resnet18"},
        "correctness": {"[equal]": [0]} | passes,
        "performance": known | performance,
    }


def test_a_json_result_is_read_as_its_log_would_be() -> None:
    found = sample_of_result(result())
    assert (found.status, found.speedup, found.t) == (LogStatus.CORRECT, 1.5, -3.0)
    assert sample_of_result(result(failure="compiled")).status is LogStatus.COMPILE
    assert sample_of_result(result(failure="eager")).status is LogStatus.EAGER
    assert sample_of_result(result(failure="what")).status is LogStatus.RUNTIME


@pytest.mark.parametrize("tree", [[], {}, 3, {"performance": []}, {"0": 1.0}])
def test_other_json_is_refused(tree: object) -> None:
    with pytest.raises(ValueError, match="performance"):
        sample_of_result(tree)


def test_directories_of_logs_and_of_categories(tmp_path: Path) -> None:
    import json

    log = "\n".join((START, *GOOD))
    for name in ("flat/inductor.log", "flat/tvm.txt", "tree/cv/a.log", "tree/nlp/b.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(log, "utf-8")
    (tmp_path / "tree/nlp/c.json").write_text(json.dumps(result()), "utf-8")
    (tmp_path / "tree/nlp/notes.json").write_text("{}", "utf-8")
    assert list(load([tmp_path / "flat"])) == ["inductor", "tvm"]
    found = load([tmp_path / "tree"])
    assert {name: len(samples) for name, samples in found.items()} == {"cv": 1, "nlp": 2}
    assert list(found["nlp"].category) == ["nlp", "nlp"]
    twice = load([tmp_path / "flat/inductor.log", tmp_path / "flat/inductor.log"])
    assert len(twice) == 2
