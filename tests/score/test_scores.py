"""S(t) and ES(t): published values, upstream's own result, and two ways to the same number."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.score import (
    DEFAULT,
    INTERPRETATIONS,
    LADDER,
    MISMATCH_EXTENDED,
    PAPER,
    Fault,
    Parameters,
    ScoredGraph,
    columns,
    combine,
    find_interpretation,
    load,
    score,
)
from graph_net.score.samples import SLACK
from score.some_samples import some_samples


def test_the_published_components_give_the_published_score() -> None:
    assert combine(1.028, 0.815, 0.887, 0.473) == pytest.approx(0.790, abs=5e-4)


def test_a_log_scores_as_upstream_scores_it(real_files: Path) -> None:
    (samples,) = load([real_files / "graphnet/inductor_h200.log"]).values()
    found = score(samples, Parameters(p=0.0, b=0.1))
    expected = json.loads((real_files / "graphnet/inductor_h200.es_p0_b0.1.json").read_text())
    assert [str(int(t)) for t in found.ts] == list(expected)
    assert found.es[0] == pytest.approx(list(expected.values()), abs=1e-9)


def per_sample(samples: list[ScoredGraph], t: float, given: Parameters, tolerant: bool) -> float:
    """The score as a geometric mean, sample by sample, as GraphNet's tools compute it."""
    logs = []
    for sample in samples:
        correct = sample.fault is Fault.NONE and (sample.t or 0.0) - SLACK <= min(t, 1.0)
        fault = Fault.ACCURACY if sample.fault is Fault.NONE else sample.fault
        if correct:
            assert sample.speedup is not None
            log = math.log(sample.speedup)
            logs.append(log * (1 + given.p) if log < 0 else log)
        elif tolerant and t >= given.interpretation.tolerated_from[fault]:
            logs.append(0.0)
        else:
            logs.append(math.log(given.b))
    return math.exp(sum(logs) / len(logs))


@given(
    st.lists(some_samples(), min_size=1, max_size=12),
    st.lists(st.floats(-11, 5), min_size=1, max_size=5),
    st.floats(0, 2),
    st.floats(0.01, 1),
    st.sampled_from(list(INTERPRETATIONS.values())),
)
def test_the_product_is_the_mean_over_samples(
    samples: list[ScoredGraph], ts: list[float], p: float, b: float, how: object
) -> None:
    assert how in INTERPRETATIONS.values()
    parameters = Parameters(p, b, how)  # type: ignore[arg-type]
    found = score(columns(samples), parameters, ts)
    for place, t in enumerate(ts):
        assert found.s[0, place] == pytest.approx(per_sample(samples, t, parameters, False))
        assert found.es[0, place] == pytest.approx(per_sample(samples, t, parameters, True))


@given(st.lists(some_samples(), min_size=1, max_size=12))
def test_es_is_s_up_to_zero_and_its_parts_multiply_to_it(samples: list[ScoredGraph]) -> None:
    found = score(columns(samples), Parameters(p=0.1))
    low = found.ts <= 0
    assert found.es[0, low] == pytest.approx(found.s[0, low])
    for place in range(len(LADDER)):
        parts = (found.alpha, found.beta, found.correct_share, found.slower_share)
        alpha, beta, lam, eta = (float(part[0, place]) for part in parts)
        gamma = float(found.gamma[0, place])
        assert found.es[0, place] == pytest.approx(combine(alpha, beta, lam, eta, 0.1, gamma))


def test_components_without_correct_samples() -> None:
    found = score(columns([ScoredGraph(None, None, Fault.COMPILE)]), ts=[0])
    assert (found.alpha[0, 0], found.beta[0, 0]) == (1, 1)
    assert (found.correct_share[0, 0], found.slower_share[0, 0]) == (0, 0)
    assert found.s[0, 0] == pytest.approx(0.1)


def tolerated(fault: Fault, how: object) -> list[float]:
    parameters = Parameters(interpretation=how)  # type: ignore[arg-type]
    found = score(columns([ScoredGraph(None, None, fault)]), parameters)
    return [float(t) for t in found.ts if found.es[0, found.ts == t][0] == 1.0]


@pytest.mark.parametrize(
    ("how", "fault", "first"),
    [
        (DEFAULT, Fault.ACCURACY, 1), (DEFAULT, Fault.RUNTIME, 3), (DEFAULT, Fault.COMPILE, 3),
        (DEFAULT, Fault.EAGER, 3), (DEFAULT, Fault.MISMATCH, 3), (DEFAULT, Fault.NON_FINITE, 1),
        (PAPER, Fault.ACCURACY, 1), (PAPER, Fault.RUNTIME, 2), (PAPER, Fault.COMPILE, 3),
        (MISMATCH_EXTENDED, Fault.ACCURACY, 1), (MISMATCH_EXTENDED, Fault.MISMATCH, 2),
        (MISMATCH_EXTENDED, Fault.NON_FINITE, 2), (MISMATCH_EXTENDED, Fault.RUNTIME, 3),
        (MISMATCH_EXTENDED, Fault.COMPILE, 4), (MISMATCH_EXTENDED, Fault.EAGER, 5),
    ],
)  # fmt: skip
def test_from_where_on_a_fault_is_tolerated(how: object, fault: Fault, first: int) -> None:
    assert tolerated(fault, how) == [float(t) for t in range(first, 5)]


def test_an_interpretation_that_is_unknown_names_the_others() -> None:
    with pytest.raises(ValueError, match="default, paper, mismatch_extended"):
        find_interpretation("strict")


def test_any_real_t_is_scored() -> None:
    found = score(columns([ScoredGraph(2.0, -5.5)]), ts=[-5.6, -5.5, -5.4])
    assert found.s[0] == pytest.approx([0.1, 2.0, 2.0])


def test_a_level_found_by_bisection_passes_where_it_belongs() -> None:
    assert score(columns([ScoredGraph(2.0, -4.99995)]), ts=[-5]).s[0, 0] == pytest.approx(2.0)


def test_what_passes_only_beyond_one_stays_an_accuracy_fault() -> None:
    found = score(columns([ScoredGraph(2.0, 3.0)]), ts=[0, 1, 4])
    assert found.es[0] == pytest.approx([0.1, 1.0, 1.0])
    assert found.s[0] == pytest.approx([0.1, 0.1, 0.1])


@pytest.mark.parametrize("bad", [{"b": 0.0}, {"b": 1.5}, {"p": -0.1}, {"p": math.inf}])
def test_parameters_are_checked(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"not "):
        Parameters(**bad)  # type: ignore[arg-type]


def test_nothing_cannot_be_scored() -> None:
    with pytest.raises(ValueError, match="no samples"):
        score(columns([]))


def test_a_sample_without_a_fault_has_a_level() -> None:
    with pytest.raises(ValueError, match="level"):
        ScoredGraph(2.0, None)
    with pytest.raises(ValueError, match="positive"):
        ScoredGraph(0.0, -5.0)


def test_levels_are_in_the_order_of_faults() -> None:
    assert len(DEFAULT.levels()) == len(Fault)
    assert DEFAULT.levels()[Fault.COMPILE] == 3
    assert np.isinf(MISMATCH_EXTENDED.levels()[Fault.EAGER])
