"""Floors: lower bounds that hold, in and beyond the caches, and what is below them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.graph.work import Work
from graph_net.measure.device import describe
from graph_net.measure.peaks import measure_peaks, time_quickest
from graph_net.results import Failure, Record, RecordError, Stage, Symptom
from graph_net.results.peaks import Peaks, identity
from graph_net.roofline.floor import MARGIN, floor_of, headroom_of, memory_seconds
from graph_net.roofline.store import (
    Rooflines,
    cache_peaks,
    read_cached_peaks,
    read_rooflines,
    write_rooflines,
)
from report.synthetic import synthetic

PEAKS = Peaks("id", "x", bandwidth=1e9, cache_bandwidth=1e10, cache_bytes=10**6,
              flops={"float32": 1e11, "bfloat16": 4e11})  # fmt: skip
FLOAT = ("float32",)


def test_beyond_the_caches_what_they_cannot_hold_moves_at_memorys_rate() -> None:
    assert memory_seconds(10**9 + 10**6, PEAKS) == pytest.approx(1.0)


def test_inside_the_caches_only_their_own_rate_bounds() -> None:
    assert memory_seconds(10**6, PEAKS) == pytest.approx(1e-4)


@given(st.integers(0, 10**11), st.integers(0, 10**9))
def test_more_bytes_never_take_less_time(moved: int, more: int) -> None:
    assert memory_seconds(moved + more, PEAKS) >= memory_seconds(moved, PEAKS)


def test_the_larger_of_the_two_times_is_the_floor() -> None:
    memory = floor_of(Work(10**10, 10**9, 0, FLOAT), PEAKS)
    compute = floor_of(Work(10**6, 10**12, 0, FLOAT), PEAKS)
    assert memory is not None
    assert compute is not None
    assert (memory.bound, compute.bound) == ("memory", "compute")
    assert compute.seconds == pytest.approx(10.0)
    assert compute.strict == compute.seconds


def test_the_fastest_type_that_occurs_bounds_and_an_unknown_one_does_not() -> None:
    def seconds(*dtypes: str) -> float | None:
        floor = floor_of(Work(0, 10**12, 0, dtypes), PEAKS)
        return None if floor is None else floor.seconds

    assert seconds("float32") == pytest.approx(10.0)
    assert seconds("float32", "bfloat16") == pytest.approx(2.5)
    assert seconds("float64", "float32") == pytest.approx(10.0)
    assert seconds("float16") == pytest.approx(10.0)  # slower than float32 here: it is widened
    assert seconds("float8_e4m3fn") is None
    assert seconds("float64") is None
    assert seconds() is None


def test_a_convolution_may_be_made_with_fewer_operations() -> None:
    floor = floor_of(Work(0, 10**12, 10**12, FLOAT), PEAKS)
    assert floor is not None
    assert floor.seconds == pytest.approx(10.0)
    assert floor.strict == pytest.approx(2.5)


def measured() -> Record:
    return next(record for record in synthetic(20) if record.timing is not None)


def rooflines(record: Record, seconds: float) -> Rooflines:
    work = Work(0, int(seconds * 1e11), 0, FLOAT)
    return Rooflines({identity(record.device): PEAKS}, {record.subject.id: work})


def test_headroom_is_measured_over_floor_and_less_than_it_is_impossible() -> None:
    record = measured()
    assert record.timing is not None
    seconds = sorted(record.timing.candidate.wall)[len(record.timing.candidate.wall) // 2]
    above = headroom_of(record, rooflines(record, seconds / 3))
    assert above is not None
    assert above.ratio == pytest.approx(3, rel=0.1)
    assert not above.impossible
    assert above.reason == ""
    near = headroom_of(record, rooflines(record, seconds * (1 + MARGIN / 2)))
    assert near is not None
    assert not near.impossible
    below = headroom_of(record, rooflines(record, seconds * 3))
    assert below is not None
    assert below.impossible
    assert "kept" in below.reason
    assert "compute floor" in below.reason


@pytest.mark.parametrize(
    ("work", "why"),
    [
        (Work(1000, 0, 0, FLOAT, "the operations of lstm are not counted"), "lstm"),
        (Work(1000, None, reason="GuardOnDataDependentSymNode"), "GuardOnData"),
        (Work(1000, 10**6, 0, ("float8_e4m3fn",)), "no peak was measured for float8_e4m3fn"),
    ],
)
def test_where_flops_are_unknown_there_is_a_floor_and_no_headroom(work: Work, why: str) -> None:
    record = measured()
    known = Rooflines({identity(record.device): PEAKS}, {record.subject.id: work})
    above = headroom_of(record, known)
    assert above is not None
    assert above.floor.seconds == pytest.approx(1e-7)
    assert (above.ratio, above.eager_ratio, above.impossible) == (None, None, False)
    assert above.reason.startswith("FLOPs unknown: ")
    assert why in above.reason


def test_what_is_below_its_memorys_floor_is_impossible_whatever_its_flops() -> None:
    record = measured()
    work = Work(10**12, None, reason="unknown")
    above = headroom_of(
        record, Rooflines({identity(record.device): PEAKS}, {record.subject.id: work})
    )
    assert above is not None
    assert above.impossible
    assert "below the memory floor" in above.reason


def test_without_peaks_work_or_samples_there_is_no_headroom() -> None:
    record = measured()
    known = rooflines(record, 1e-6)
    noisy = replace(record, failure=Failure(Stage.MEASURE, Symptom.TOO_NOISY, "noise"))
    assert headroom_of(noisy, known) is None
    assert headroom_of(record, Rooflines()) is None
    assert headroom_of(record, replace(known, work={})) is None
    assert headroom_of(record, replace(known, peaks={})) is None
    empty = replace(known, work={record.subject.id: Work(0)})
    assert headroom_of(record, empty) is None


def test_what_is_kept_beside_records_comes_back_and_damage_is_told(tmp_path: Path) -> None:
    assert read_rooflines(tmp_path) == Rooflines()
    found = Rooflines({"id": PEAKS}, {"a": Work(1, 2, 3, FLOAT), "b": Work(5, reason="why")})
    write_rooflines(tmp_path, found)
    assert read_rooflines(tmp_path) == found
    (tmp_path / "roofline.json").write_text("{")
    with pytest.raises(RecordError, match="--again"):
        read_rooflines(tmp_path)


def test_peaks_are_kept_for_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert read_cached_peaks("id") is None
    cache_peaks(PEAKS)
    assert read_cached_peaks("id") == PEAKS
    next((tmp_path / "graph-net" / "roofline").iterdir()).write_text("no")
    assert read_cached_peaks("id") is None


def test_a_machine_is_the_same_whatever_runs_on_it() -> None:
    device = describe("cpu", 1)
    assert identity(device) == identity(replace(device, software={}, python="4"))
    assert identity(device) != identity(replace(device, threads=2))
    assert identity(device) != identity(replace(device, name="another"))


def test_peaks_of_this_machine_are_sane(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short and small: that every figure is there and caches are no slower than memory."""
    monkeypatch.setattr("graph_net.measure.peaks.SPENT", 0.01)
    monkeypatch.setattr("graph_net.measure.peaks.SIDES", (64, 128))
    monkeypatch.setattr("graph_net.measure.peaks.SMALLEST", 1 << 20)
    monkeypatch.setattr("graph_net.measure.peaks.cache_bytes", lambda kind: 1 << 18)
    told: list[str] = []
    found = measure_peaks(describe("cpu", 1), told.append)
    assert found.device == identity(describe("cpu", 1))
    assert 1e6 < found.bandwidth <= found.cache_bandwidth
    assert found.flops["float32"] > 1e6
    assert all(rate >= found.flops["float32"] for rate in found.flops.values())
    assert told[:2] == ["memory", "caches"]


def test_the_first_call_warms_up_and_is_not_the_quickest() -> None:
    calls: list[int] = []
    assert time_quickest("cpu", lambda: calls.append(1), spent=0.0) > 0
    assert len(calls) >= 4


def test_a_compiler_that_keeps_its_results_is_found_out() -> None:
    """Its outputs are right at every call, so nothing but the floor can tell."""
    import torch

    from graph_net.graph.work import work_of
    from graph_net.testing.models import graph_of
    from measure.asking import measured as records_of
    from measure.asking import task

    graph = graph_of(torch.nn.Linear(1024, 1024), (torch.randn(256, 1024),))
    (computes,) = records_of([task("eager", graph)], 1)
    assert computes.timing is not None
    arm = computes.timing.candidate
    looked_up = replace(arm, wall=(1e-6,) * len(arm.wall))
    keeps = replace(computes, timing=replace(computes.timing, candidate=looked_up))
    # Ten times what any one core does: eager is above the floor on every machine.
    peaks = Peaks("id", "x", 1e12, 1e13, 1 << 30, {"float32": 2e12})
    known = Rooflines({identity(computes.device): peaks}, {graph.id: work_of(graph)})
    above = [headroom_of(record, known) for record in (keeps, computes)]
    assert [found is not None and found.impossible for found in above] == [True, False]
