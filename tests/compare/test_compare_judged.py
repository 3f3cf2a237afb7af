"""What became of a graph between two runs, and what is never held against anybody."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compare.some_runs import blocks, stored, timed, timing
from graph_net.compare import Change, CompareSettings, Comparison, Reason, compare
from graph_net.compare.blocks import block_logs
from graph_net.formats.graphnet.log import LogHeader, log_lines
from graph_net.measure.stats import block_logs as one_by_one
from graph_net.results import BLAMELESS, Failure, Record, RecordError, Stage, Symptom
from graph_net.store.records import RecordStore
from score.some_samples import CONFIG, DEVICE, output, record

TVM = replace(CONFIG, name="tvm")
SLOW, FAST = 1.5, 2.5


def between(
    tmp_path: Path, a: Iterable[Record], b: Iterable[Record], **settings: Any
) -> Comparison:
    first, second = stored(tmp_path / "a", a), stored(tmp_path / "b", b)
    return compare(first, second, settings=CompareSettings(**settings))


def only(found: Comparison) -> tuple[Change, Reason]:
    (row,) = found.rows(found.order())
    return row.change, row.reason


def test_faster_slower_and_same(tmp_path: Path) -> None:
    speeds = {"up": FAST, "down": SLOW, "still": 2.01}
    found = between(
        tmp_path,
        [timed(name, 2.0, seed) for seed, name in enumerate(speeds)],
        [timed(name, speed, 9 + seed) for seed, (name, speed) in enumerate(speeds.items())],
    )
    rows = {row.graph: row for row in found.rows(found.order())}
    assert {name: row.change for name, row in rows.items()} == {
        "up": Change.FASTER,
        "down": Change.SLOWER,
        "still": Change.SAME,
    }
    assert rows["down"].ratio == pytest.approx(0.75, rel=0.01)
    assert rows["down"].q is not None
    assert rows["down"].low is not None
    assert rows["down"].low < 0.75 < (rows["down"].high or 0)
    assert found.regressions == 1
    assert found.rows(found.order())[0].graph == "down", "what regressed stands first"


def test_a_difference_within_the_threshold_does_not_matter(tmp_path: Path) -> None:
    a, b = [timed("g", 2.0)], [timed("g", 1.94, 1)]
    assert only(between(tmp_path / "5", a, b))[0] is Change.SAME
    assert only(between(tmp_path / "1", a, b, threshold=1.01))[0] is Change.SLOWER


def test_a_wide_interval_says_nothing(tmp_path: Path) -> None:
    a = record("g", timing=timing(blocks(2.0, 0, 0.1)))
    b = record("g", timing=timing(blocks(1.95, 1, 0.1)))
    assert only(between(tmp_path, [a], [b])) == (Change.AMBIGUOUS, Reason.INTERVAL)


def test_noise_of_either_run_is_a_margin(tmp_path: Path) -> None:
    quiet, noisy = timed("g", 2.0), timed("g", 1.7, 1, noise=1.3)
    found = between(tmp_path, [quiet], [noisy])
    assert only(found) == (Change.AMBIGUOUS, Reason.NOISE)
    assert "30%" in found.rows([0])[0].sentence
    swapped = between(tmp_path / "2", [noisy], [quiet])
    assert only(swapped) == (Change.AMBIGUOUS, Reason.NOISE)


def test_among_many_graphs_one_weak_difference_is_chance(tmp_path: Path) -> None:
    """It is found alone, and not among two hundred that have not changed."""
    logs = blocks(2.0, 0, 0.02, 8)
    moved = np.sort(logs) - np.log(1.05) - 0.022
    a, b = record("g", timing=timing(logs)), record("g", timing=timing(moved))
    assert only(between(tmp_path / "one", [a], [b]))[0] is Change.SLOWER
    others = [[timed(f"n{n}", 2.0, 1000 * run + n) for n in range(200)] for run in (1, 2)]
    many = between(tmp_path / "many", [a, *others[0]], [b, *others[1]])
    row = next(row for row in many.rows(many.order()) if row.graph == "g")
    assert (row.change, row.reason) == (Change.AMBIGUOUS, Reason.CHANCE)
    assert many.regressions == 0


def test_the_interval_beside_a_verdict_is_the_one_it_rests_on(tmp_path: Path) -> None:
    """Slower or faster: all of it beyond the margin. Ambiguous by chance: it reaches in."""
    count, a, b = 60, [], []
    for number in range(count):
        ratio = 1.0 + 0.002 * number
        a.append(record(f"g{number}", timing=timing(blocks(2.0, number, 0.03))))
        b.append(record(f"g{number}", timing=timing(blocks(2.0 / ratio, 999 + number, 0.03))))
    rows = [row for row in between(tmp_path, a, b).rows(range(count)) if row.low and row.high]
    kinds = {Change.SLOWER, Change.AMBIGUOUS}
    assert kinds <= {row.change for row in rows}
    assert Reason.CHANCE in {row.reason for row in rows}
    for row in rows:
        assert row.low is not None
        assert row.high is not None
        beyond = row.high < 1 / 1.05 or row.low > 1.05
        assert beyond == (row.change in (Change.SLOWER, Change.FASTER)), row


def test_too_few_samples(tmp_path: Path) -> None:
    short = record("g", timing=timing(blocks(1.0, 1, count=7)))
    assert only(between(tmp_path, [timed("g")], [short])) == (Change.AMBIGUOUS, Reason.SAMPLES)


def test_another_processor_is_not_compared_by_its_times(tmp_path: Path) -> None:
    other = replace(DEVICE, name="another processor")
    found = between(tmp_path, [timed("g")], [timed("g", SLOW, device=other)])
    assert only(found) == (Change.AMBIGUOUS, Reason.DEVICE)
    broken = record("g", (Stage.COMPILE, Symptom.EXCEPTION), device=other)
    assert only(between(tmp_path / "2", [timed("g")], [broken]))[0] is Change.NEW_FAILURE


def test_another_protocol_is_not_compared(tmp_path: Path) -> None:
    found = between(tmp_path, [timed("g")], [timed("g", SLOW, protocol="q")])
    assert only(found) == (Change.AMBIGUOUS, Reason.PROTOCOL)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(1e-3, (Change.SLOWER, Reason.NONE)), (0.75e-3, (Change.AMBIGUOUS, Reason.EAGER))],
)
def test_a_quicker_eager_makes_no_compiler_slower(
    tmp_path: Path, seconds: float, expected: tuple[Change, Reason]
) -> None:
    """With a new torch eager may be quicker: then the compiled graph's own time must agree."""
    newer = replace(DEVICE, software={"torch": "2.14.0"})
    a, b = timed("g", 2.0), timed("g", SLOW, 1, seconds=seconds, device=newer)
    assert only(between(tmp_path, [a], [b])) == expected


def test_a_busier_machine_makes_no_compiler_slower(tmp_path: Path) -> None:
    """The same software, everything twice as slow: the ratio to eager is what counts."""
    found = between(tmp_path, [timed("g", 2.0)], [timed("g", 2.0, 1, seconds=2e-3)])
    assert only(found)[0] is Change.SAME
    assert found.spreads()["eager"].middle == pytest.approx(2.0)


def test_failures_come_and_go(tmp_path: Path) -> None:
    failed = (Stage.COMPILE, Symptom.EXCEPTION)
    found = between(
        tmp_path,
        [timed("breaks"), record("mends", failed), record("stays", failed)],
        [record("breaks", failed), timed("mends"), record("stays", failed)],
    )
    changes = {row.graph: row.change for row in found.rows(found.order())}
    assert changes == {
        "breaks": Change.NEW_FAILURE,
        "mends": Change.FIXED,
        "stays": Change.STILL_FAILING,
    }
    assert found.regressions == 1


@pytest.mark.parametrize("symptom", sorted(BLAMELESS))
@pytest.mark.parametrize("side", [0, 1])
def test_nobody_is_blamed_for_the_machine(tmp_path: Path, symptom: Symptom, side: int) -> None:
    stage = {Symptom.NONDETERMINISTIC: Stage.VERIFY}
    blameless = record("g", (stage.get(symptom, Stage.COMPILE), symptom))
    for other in (timed("g"), record("g", (Stage.COMPILE, Symptom.CRASH))):
        sides = [other, blameless] if side else [blameless, other]
        found = between(tmp_path / str(id(other)), [sides[0]], [sides[1]])
        assert only(found)[0] is Change.NOT_COUNTED
        assert found.regressions == 0


def test_a_failure_is_told_in_its_own_words(tmp_path: Path) -> None:
    """Not in its signature, which masks what tells people something."""
    failure = Failure(Stage.COMPILE, Symptom.TIMEOUT, "took 612 s\nand more", "took # s")
    broken = replace(record("g", (Stage.COMPILE, Symptom.TIMEOUT)), failure=failure)
    (row,) = between(tmp_path, [timed("g")], [broken]).rows([0])
    assert row.failures == ("", "compile timeout: took 612 s")
    assert row.sentence == "compile timeout: took 612 s"


def test_noise_hides_neither_a_failure_nor_a_repair(tmp_path: Path) -> None:
    noisy = record("g", (Stage.MEASURE, Symptom.TOO_NOISY))
    crashed = record("g", (Stage.COMPILE, Symptom.CRASH))
    found = between(tmp_path / "breaks", [noisy], [crashed])
    assert only(found)[0] is Change.NEW_FAILURE
    found = between(tmp_path / "mends", [crashed], [noisy])
    assert only(found)[0] is Change.FIXED


def test_of_a_noisy_pair_the_outputs_are_compared_and_the_speedups_are_not(tmp_path: Path) -> None:
    noisy = record("g", (Stage.MEASURE, Symptom.TOO_NOISY), outputs=(output(-1.0),))
    found = between(tmp_path, [timed("g", outputs=(output(-4.0),))], [noisy])
    (row,) = found.rows([0])
    assert (row.change, row.reason) == (Change.AMBIGUOUS, Reason.TOO_NOISY)
    assert row.ratio is None
    assert row.level_change == 1


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [(-4.0, -1.0, 1), (-1.0, -4.0, -1), (-64.0, -5.5, 0), (-5.5, -4.5, 0), (-3.0, -2.5, 0)],
)
def test_correctness_is_a_matter_of_levels(
    tmp_path: Path, before: float, after: float, change: int
) -> None:
    """Below t = -5 outputs differ by rounding; a level is a factor of ten."""
    a, b = timed("g", outputs=(output(before),)), timed("g", seed=1, outputs=(output(after),))
    found = between(tmp_path, [a], [b])
    assert found.rows([0])[0].level_change == change
    assert found.regressions == (change > 0)


def test_each_compiler_is_compared_with_itself(tmp_path: Path) -> None:
    a = [timed("g", 2.0), timed("g", 4.0, 1, config=TVM), timed("only", 2.0)]
    b = [timed("g", 2.0, 2), timed("g", 3.0, 3, config=TVM)]
    found = between(tmp_path, a, b)
    changes = {row.compiler: row.change for row in found.rows(found.order())}
    assert changes == {"inductor": Change.SAME, "tvm": Change.SLOWER}
    assert (found.pairs.only_first, found.pairs.only_second) == (1, 0)


def test_two_configurations_of_one_source(tmp_path: Path) -> None:
    tuned = replace(CONFIG, options={"mode": "max-autotune"})
    plain = replace(CONFIG, options={"mode": "default"})
    newer = replace(CONFIG, version="2.14", options={"mode": "default"})
    records = [timed("g", 2.0, 0, config=plain), timed("g", 3.0, 1, config=tuned),
               timed("g", 1.5, 2, config=newer), timed("g", 4.0, 3, config=TVM)]  # fmt: skip
    place = stored(tmp_path, records)
    for names, expected in {
        ("inductor[mode=default]@2.13", "inductor[mode=max-autotune]"): Change.FASTER,
        ("inductor[mode=default]@2.13", "inductor@2.14"): Change.SLOWER,
        ("tvm", "inductor@2.14"): Change.SLOWER,
    }.items():
        assert only(compare(place, between=names))[0] is expected
    with pytest.raises(RecordError, match=r"several.*max-autotune"):
        compare(place, between=("inductor", "tvm"))
    with pytest.raises(RecordError, match="no records of 'glow'"):
        compare(place, between=("glow", "tvm"))


def test_the_last_record_of_a_graph_counts(tmp_path: Path) -> None:
    again = [timed("g", SLOW, started="2026-01-01"), timed("g", 2.0, 1, started="2026-01-02")]
    assert only(between(tmp_path, [timed("g", 2.0)], again))[0] is Change.SAME


def test_journals_parts_and_directories_are_read_alike(tmp_path: Path) -> None:
    a, b = [timed("g", 2.0)], [timed("g", SLOW, 1)]
    parts, journals = stored(tmp_path / "a", a), stored(tmp_path / "b", b, compact=False)
    (part,), (journal,) = RecordStore(parts).parts(), RecordStore(journals).journals()
    for first, second in ((parts, journals), (part, journal)):
        assert only(compare(first, second))[0] is Change.SLOWER


def test_logs_have_failures_and_levels_but_no_samples(tmp_path: Path) -> None:
    failed = record("two", (Stage.COMPILE, Symptom.EXCEPTION))
    for side, records in {
        "a": [record("one", t=-5.0), record("two")],
        "b": [record("one", t=-2.0), failed],
    }.items():
        header = LogHeader()
        lines = [line for each in records for line in log_lines(each, each.subject.name, header)]
        (tmp_path / f"{side}.log").write_text("\n".join(lines) + "\n")
    found = compare(tmp_path / "a.log", tmp_path / "b.log")
    rows = {row.graph: row for row in found.rows(found.order())}
    assert rows["two"].change is Change.NEW_FAILURE
    assert (rows["one"].change, rows["one"].reason) == (Change.AMBIGUOUS, Reason.SAMPLES)
    assert rows["one"].level_change == 1
    assert rows["one"].ratio == pytest.approx(1.0)


def test_blocks_of_columns_are_those_of_the_timing(tmp_path: Path) -> None:
    records = [record("a", timing=timing(blocks(2.0, 1), per_block=2)), timed("b", 3.0),
               record("c", (Stage.COMPILE, Symptom.CRASH))]  # fmt: skip
    found = block_logs(RecordStore(stored(tmp_path, records, compact=False)).table())
    assert found.counts.tolist() == [12, 12, 0]
    for row, each in enumerate(records[:2]):
        held = each.timing
        assert held is not None
        sides = [one_by_one(arm.wall, held.candidate.wall, held.per_block)
                 for arm in (held.eager, held.control)]  # fmt: skip
        expected = (sides[0] + sides[1]) / 2
        assert found.take(np.array([row])).values == pytest.approx(expected)


def test_nothing_in_common_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="in common"):
        between(tmp_path, [timed("a")], [timed("b")])
    with pytest.raises(RecordError, match="--between"):
        compare(tmp_path / "a")
    with pytest.raises(RecordError, match="does not exist"):
        compare(tmp_path / "nowhere", tmp_path / "a")


@pytest.mark.parametrize(
    "settings", [{"threshold": 0.9}, {"fdr": 0.0}, {"confidence": 1.0}, {"levels": -1.0}]
)
def test_settings_that_make_no_sense(settings: dict[str, float]) -> None:
    with pytest.raises(RecordError, match=next(iter(settings))):
        CompareSettings(**settings)
