"""Records as samples: one by one and column by column, what counts and what does not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from graph_net.results import BLAMELESS, Interval, Record, RecordError, Stage, Symptom
from graph_net.score import (
    Fault,
    ScoredGraph,
    Speedup,
    columns,
    control_of,
    estimate,
    load,
    sample_of,
    score,
)
from graph_net.store.records import RecordStore
from score.some_samples import CONFIG, DEVICE, output, record, timing

TVM = replace(CONFIG, name="tvm")
KINDS = {
    (Stage.LOAD, Symptom.EXCEPTION): Fault.EAGER,
    (Stage.EAGER, Symptom.OUT_OF_MEMORY): Fault.EAGER,
    (Stage.COMPILE, Symptom.EXCEPTION): Fault.COMPILE,
    (Stage.COMPILE, Symptom.UNSUPPORTED): Fault.COMPILE,
    (Stage.COMPILE, Symptom.CRASH): Fault.COMPILE,
    (Stage.COMPILE, Symptom.TIMEOUT): Fault.COMPILE,
    (Stage.FIRST_RUN, Symptom.EXCEPTION): Fault.RUNTIME,
    (Stage.FIRST_RUN, Symptom.CRASH): Fault.RUNTIME,
    (Stage.VERIFY, Symptom.TIMEOUT): Fault.RUNTIME,
    (Stage.MEASURE, Symptom.EXCEPTION): Fault.RUNTIME,
    (Stage.VERIFY, Symptom.NUMERIC): Fault.ACCURACY,
    (Stage.VERIFY, Symptom.NON_FINITE): Fault.NON_FINITE,
    (Stage.VERIFY, Symptom.STRUCTURE): Fault.MISMATCH,
    (Stage.VERIFY, Symptom.SHAPE): Fault.MISMATCH,
    (Stage.VERIFY, Symptom.DTYPE): Fault.MISMATCH,
}
FREE = [
    (Stage.COMPILE, Symptom.INFRASTRUCTURE),
    (Stage.VERIFY, Symptom.NONDETERMINISTIC),
]


def stored(path: Path, records: Iterable[Record], compact: bool = True) -> Path:
    store = RecordStore(path)
    with store.journal() as journal:
        for each in records:
            journal.add(each)
    if compact:
        store.compact()
    return path


@pytest.mark.parametrize(("failure", "fault"), KINDS.items())
def test_a_failure_counts_as_its_fault(failure: tuple[Stage, Symptom], fault: Fault) -> None:
    sample = sample_of(record("m", failure))
    assert sample is not None
    assert (sample.fault, sample.t) == (fault, None)


def test_the_blameless_are_those_of_records() -> None:
    assert {symptom for _, symptom in FREE} == BLAMELESS


@pytest.mark.parametrize("failure", FREE)
def test_what_says_nothing_about_the_compiler_is_excluded(failure: tuple[Stage, Symptom]) -> None:
    assert sample_of(record("m", failure)) is None


def test_what_is_excluded_leaves_the_score_alone_and_is_counted(tmp_path: Path) -> None:
    good = [record("a"), record("b", speedup=0.5)]
    bad = [record(f"n{number}", failure) for number, failure in enumerate(FREE)]
    (found,) = load([stored(tmp_path, [*good, *bad])]).values()
    assert len(found) == 2
    assert found.blameless == {symptom.value: 1 for _, symptom in FREE}
    assert score(found, ts=[0]).s[0, 0] == pytest.approx(1.0)


NOISY = (Stage.MEASURE, Symptom.TOO_NOISY)


def test_a_noisy_measurement_counts_as_correct_without_a_speedup(tmp_path: Path) -> None:
    noisy = record("n", NOISY, speedup=64.0)  # what its samples say is no speedup
    crashed = record("c", (Stage.COMPILE, Symptom.CRASH))
    (found,) = load([stored(tmp_path, [record("a", speedup=2.0), noisy, crashed])]).values()
    assert (len(found), found.too_noisy, found.blameless) == (3, 1, {})
    curves = score(found, ts=[-4])
    assert curves.alpha[0, 0] == pytest.approx(2.0)
    assert curves.correct_share[0, 0] == pytest.approx(2 / 3)
    assert curves.s[0, 0] == pytest.approx(2.0 ** (2 / 3) * 0.1 ** (1 / 3))


def test_a_wrong_result_is_wrong_on_a_noisy_machine(tmp_path: Path) -> None:
    wrong = record("n", NOISY, outputs=(output(0.5),))
    (found,) = load([stored(tmp_path, [record("a", speedup=2.0), wrong])]).values()
    assert score(found, ts=[0]).correct_share[0, 0] == 0.5
    assert score(found, ts=[0]).s[0, 0] == pytest.approx((2.0 * 0.1) ** 0.5)


def test_where_everything_was_too_noisy_speedups_count_as_one(tmp_path: Path) -> None:
    (found,) = load([stored(tmp_path, [record("n", NOISY, speedup=64.0)])]).values()
    assert score(found, ts=[0]).s[0, 0] == 1.0


@pytest.mark.parametrize("compact", [True, False])
def test_columns_are_what_the_records_are_one_by_one(tmp_path: Path, compact: bool) -> None:
    records = [record(f"resnet{n}", failure) for n, failure in enumerate([None, *KINDS])]
    records += [record("vit", speedup=0.3, t=-1.5), record("vit2", NOISY)]
    (found,) = load([stored(tmp_path, records, compact)]).values()
    one_by_one = columns(sample for each in records if (sample := sample_of(each)))
    assert sorted(found.families) == sorted(one_by_one.families) == ["timm/resnet", "timm/vit"]
    numbers = ("log_speedup", "doubt", "log_control", "control_doubt")
    for name in (*numbers, "timed", "t", "fault", "graph", "category", "family"):
        got, want = getattr(found, name), getattr(one_by_one, name)
        if name in numbers:
            assert got == pytest.approx(want, nan_ok=True), name
        else:
            assert np.array_equal(got, want), name


def test_a_graph_measured_again_counts_once_and_last(tmp_path: Path) -> None:
    first = record("a", speedup=4.0, started="2026-01-01T00:00:00")
    again = record("a", speedup=2.0, started="2026-01-02T00:00:00")
    (found,) = load([stored(tmp_path, [first, again])]).values()
    assert found.speedup == pytest.approx([2.0])


def test_results_of_two_protocols_are_two_curves(tmp_path: Path) -> None:
    both = [record("a", speedup=4.0, protocol="p"), record("a", speedup=2.0, protocol="q")]
    other = record("a", config=TVM, protocol="p")
    found = load([stored(tmp_path, [*both, other])])
    assert sorted(found) == ["inductor protocol p", "inductor protocol q", "tvm"]
    assert found["inductor protocol p"].speedup == pytest.approx([4.0])
    assert found["inductor protocol q"].speedup == pytest.approx([2.0])


def test_configurations_that_differ_have_names_that_differ(tmp_path: Path) -> None:
    older = replace(CONFIG, version="2.12")
    tuned = replace(CONFIG, options={"mode": "max"})
    other = replace(DEVICE, name="another processor")
    records = [
        record("a"),
        record("a", config=older),
        record("a", config=tuned),
        record("a", config=tuned, device=other),
    ]
    assert sorted(load([stored(tmp_path, records)])) == [
        "inductor 2.12",
        "inductor 2.13",
        "inductor[mode=max] 2.13 a processor",
        "inductor[mode=max] 2.13 another processor",
    ]


def test_a_speedup_is_that_of_the_record_as_bench_prints_it(tmp_path: Path) -> None:
    own = replace(timing(2.0), speedup=Interval(3.0, 3.0, 3.0))  # the ratio of medians is 2
    found = load([stored(tmp_path, [record("a", timing=own)])])["inductor"]
    assert found.speedup == pytest.approx([3.0])
    assert found.speedups is Speedup.PAIRED
    sample = sample_of(record("a", timing=own))
    assert sample is not None
    assert sample.speedup == 3.0


def test_the_doubt_of_a_record_is_its_intervals_and_its_controls() -> None:
    sides = Interval(2.0, 2.0 / 1.1, 2.0 * 1.2)
    quiet = replace(timing(2.0), speedup=sides)
    noisy = replace(quiet, noise=Interval(1.3, 1.0, 1.4))
    wide = math.log(1.2) / NormalDist().inv_cdf(0.995)
    samples = [sample_of(record("a", timing=each)) for each in (quiet, noisy)]
    assert [each.doubt for each in samples if each] == pytest.approx(
        [wide, math.hypot(wide, math.log(1.3))]
    )
    assert [each.control for each in samples if each] == [1.0, 1.3]


def test_the_control_is_eager_against_itself_in_every_record(tmp_path: Path) -> None:
    off = replace(timing(4.0), noise=Interval(1.1, 1.0, 1.2))
    crash = record("c", (Stage.COMPILE, Symptom.CRASH))
    records = [record("a", timing=off), record("b", speedup=9.0, config=TVM), crash]
    control = control_of(load([stored(tmp_path, records)]).values())
    assert control is not None
    assert sorted(control.speedup) == pytest.approx([1.0, 1.1])
    assert score(control, ts=[-10]).s[0, 0] == pytest.approx(1.1**0.5)
    assert estimate(control).families == 2


def test_a_log_has_no_control() -> None:
    assert control_of([columns([ScoredGraph(2.0, -5.0)])]) is None


def test_what_holds_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="holds no results; give records"):
        load([tmp_path])
    with pytest.raises(RecordError, match="does not exist"):
        load([tmp_path / "nowhere"])


def test_graphs_without_a_model_are_families_by_their_names(tmp_path: Path) -> None:
    records = [record(name) for name in ("resnet18", "resnet50", "vit")]
    bare = [replace(each, subject=replace(each.subject, model="")) for each in records]
    (found,) = load([stored(tmp_path, bare)]).values()
    assert sorted(found.families) == ["timm/resnet", "timm/vit"]
    assert found.family[0] == found.family[1] != found.family[2]


def test_graphs_taken_in_pieces_are_counted_beside_the_score(tmp_path: Path) -> None:
    said = [
        {},
        {"compiled_graphs": 1, "graph_breaks": 0},
        {"compiled_graphs": 3, "graph_breaks": 2},
        {"compiled_graphs": 0, "graph_breaks": 1},
        {"compiled_graphs": "many", "graph_breaks": -1},
    ]
    records = [record(f"m{n}", environment=each) for n, each in enumerate(said)]
    (found,) = load([stored(tmp_path, records)]).values()
    assert (len(found), found.broken, found.uncompiled) == (5, 1, 1)
