"""A run against a golden run: when outputs hold, and when times are told apart."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.golden.runs import Rerun
from graph_net.golden.store import GoldenRun
from graph_net.golden.verdict import (
    RerunVerdict,
    Standing,
    compare_with_golden,
    judge_rerun,
    time_ratio,
)
from graph_net.measure import Protocol
from graph_net.results import (
    Config,
    ConfigKind,
    Device,
    Failure,
    Interval,
    Json,
    Output,
    Record,
    Samples,
    Stage,
    Subject,
    Symptom,
    Timing,
    Verdict,
)

CALM = Interval(1.0, 0.999, 1.001)


def timing(seconds: float, spread: float = 0.001, blocks: int = 12, per_block: int = 4) -> Timing:
    wall = tuple(
        seconds * (1 + spread * ((7 * n) % 11) / 11) for n in range(blocks * per_block)
    )  # fmt: skip
    arm = Samples(wall)
    return Timing(arm, arm, arm, CALM, CALM, Verdict.SAME, per_block=per_block)


def record(
    seconds: float = 1e-3,
    t: float | None = -64.0,
    golden_failure: Failure | None = None,
    failure: Failure | None = None,
    told: bool = True,
    **changes: Any,
) -> Record:
    environment: dict[str, Json] = {}
    if told:
        compared = Output("float32", (2,), t, t_of=(t,) * 4)
        environment["golden"] = {
            "outputs": [asdict(compared)],
            "failure": None if golden_failure is None else asdict(golden_failure),
            "same_bits": [t == -64.0],
        }
    early = failure is not None and failure.stage not in (Stage.VERIFY, Stage.MEASURE)
    return Record(
        Subject("id", "structure", "graph"), Config(ConfigKind.COMPILER, "inductor", "1"),
        Device("cpu", "x", 1, 1, 1, "", ""), "protocol", failure,
        None if early else timing(seconds, **changes),
        () if early else (Output("float32", (2,), -64.0),), environment=environment,
    )  # fmt: skip


def against(now: Record, then: Record | None = None, **bounds: float) -> RerunVerdict:
    return compare_with_golden(GoldenRun(then or record(), Protocol(), ""), now, **bounds)


def test_equal_outputs_and_times_hold() -> None:
    found = against(record())
    assert (found.standing, found.verdict, found.same_bits) == (Standing.HOLDS, Verdict.SAME, True)
    assert not found.worse


@pytest.mark.parametrize(
    ("seconds", "verdict", "worse"),
    [(2e-3, Verdict.SLOWER, True), (0.5e-3, Verdict.FASTER, False), (1.02e-3, Verdict.SAME, False),
     (1.08e-3, Verdict.SLOWER, True)],
)  # fmt: skip
def test_times_are_told_apart_beyond_the_margin(
    seconds: float, verdict: Verdict, worse: bool
) -> None:
    found = against(record(seconds))
    assert found.verdict is verdict
    assert found.worse is worse
    assert found.speed is not None
    assert found.speed.low <= 1e-3 / seconds <= found.speed.high


def test_what_is_noisy_is_not_told_apart() -> None:
    found = against(record(0.9e-3, spread=0.5, per_block=1))
    assert found.verdict is Verdict.AMBIGUOUS
    assert found.verdict_reason
    assert not found.worse


def test_a_control_that_was_off_widens_what_counts_as_same() -> None:
    loud = record()
    assert loud.timing is not None
    loud = replace(loud, timing=replace(loud.timing, noise=Interval(1.0, 0.8, 1.3)))
    assert against(record(1.1e-3), loud).verdict is Verdict.AMBIGUOUS
    assert against(loud, record(1.1e-3)).verdict is Verdict.AMBIGUOUS


@pytest.mark.parametrize(
    ("t", "level", "standing"),
    [(-3.5, -3.0, Standing.HOLDS), (-2.5, -3.0, Standing.DIFFERS), (-2.5, -2.0, Standing.HOLDS),
     (None, 16.0, Standing.DIFFERS)],
)  # fmt: skip
def test_outputs_hold_up_to_the_level(t: float | None, level: float, standing: Standing) -> None:
    found = against(record(t=t), level=level)
    assert found.standing is standing
    assert found.worse is (standing is Standing.DIFFERS)
    assert bool(found.reason) is (standing is Standing.DIFFERS)


def test_another_shape_differs_at_any_level() -> None:
    failure = Failure(Stage.VERIFY, Symptom.SHAPE, "output 0 is (1,), not (2,)")
    found = against(record(golden_failure=failure), level=100.0)
    assert found.standing is Standing.DIFFERS
    assert "(1,)" in found.reason


def test_random_graphs_are_not_judged_but_timed() -> None:
    failure = Failure(Stage.VERIFY, Symptom.NONDETERMINISTIC, "differs, but draws random numbers")
    found = against(record(2e-3, t=None, golden_failure=failure))
    assert found.standing is Standing.NOT_JUDGED
    assert found.verdict is Verdict.SLOWER


def test_a_failure_here_is_a_regression_and_a_machines_fault_is_none() -> None:
    failed = Failure(Stage.COMPILE, Symptom.EXCEPTION, "no", "no")
    found = against(record(failure=failed, told=False))
    assert (found.standing, found.verdict, found.worse) == (Standing.FAILED, None, True)
    spoilt = Failure(Stage.LOAD, Symptom.INFRASTRUCTURE, "killed from outside")
    found = against(record(failure=spoilt, told=False))
    assert (found.standing, found.worse) == (Standing.NOT_JUDGED, False)


def test_what_cannot_be_compared_says_why() -> None:
    assert judge_rerun(Rerun("n", None, problem="n.json is damaged")).standing is Standing.DAMAGED
    there = record(failure=Failure(Stage.COMPILE, Symptom.TIMEOUT, "late"), told=False)
    found = judge_rerun(Rerun("n", GoldenRun(there, Protocol(), "")))
    assert (found.standing, found.reason) == (Standing.NO_REFERENCE, "compile timeout there")
    run = GoldenRun(record(), Protocol(), "")
    assert judge_rerun(Rerun("n", run, problem="x")).standing is Standing.NOT_JUDGED
    assert judge_rerun(Rerun("n", run, problem="x", damaged=True)).standing is Standing.DAMAGED
    assert judge_rerun(Rerun("n", run, record())).standing is Standing.HOLDS


@given(st.floats(1e-7, 10), st.floats(1e-7, 10), st.integers(1, 20), st.integers(1, 8))
def test_a_ratio_turned_round_is_the_ratio_of_the_others(
    first: float, second: float, blocks: int, per_block: int
) -> None:
    a, b = timing(first, 0.1, blocks, per_block), timing(second, 0.1, 10, 2)
    there, back = time_ratio(a, b, "candidate"), time_ratio(b, a, "candidate")
    assert there.value == pytest.approx(1 / back.value)
    assert (there.low, there.high) == pytest.approx((1 / back.high, 1 / back.low))
    assert there.low <= there.value <= there.high


def test_a_block_length_that_does_not_fit_is_no_crash() -> None:
    odd = replace(timing(1e-3), per_block=7)
    assert time_ratio(odd, replace(odd, per_block=0), "eager").value == pytest.approx(1.0)
