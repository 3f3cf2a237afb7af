"""Intervals and rankings: as wide as families make them, and right as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.coverage import coverage, worlds

from graph_net.results import Interval
from graph_net.score import (
    Fault,
    Parameters,
    ScoredGraph,
    ScoredGraphs,
    columns,
    estimate,
    rank,
    score,
)
from graph_net.score.confidence import FEW_FAMILIES, draw_weights
from graph_net.score.ranking import _holm, common
from graph_net.score.student_t import stretch_factor, t_quantile


def family_samples(
    families: int, each: int, seed: int, shift: float = 0.0, within: float = 0.05
) -> list[ScoredGraph]:
    """Families that differ from one another, whose members are alike; seed 0 and 1 share them."""
    centres = np.random.default_rng(7).normal(0.0, 0.5, families)
    noise = np.random.default_rng(seed).normal(shift, within, (families, each))
    return [
        ScoredGraph(math.exp(centres[f] + noise[f, k]), -5.0, Fault.NONE, f"g{f}.{k}", f"f{f}")
        for f in range(families)
        for k in range(each)
    ]


def test_the_point_is_the_score_and_lies_within() -> None:
    samples = columns(family_samples(30, 4, 0))
    found = estimate(samples)
    assert found.at("s", 0).value == pytest.approx(score(samples, ts=[0]).s[0, 0])
    for name in ("alpha", "beta", "correct_share", "slower_share", "s", "es"):
        for t in (-10, -5, 0, 3):
            bounds = found.at(name, t)
            assert bounds.low <= bounds.value <= bounds.high
    assert found.graphnet is not None
    assert found.graphnet.low < found.graphnet.value < found.graphnet.high
    assert (found.samples, found.families, found.uncertain) == (120, 30, False)


def test_few_families_are_told() -> None:
    assert estimate(columns(family_samples(FEW_FAMILIES - 1, 9, 0))).uncertain


def test_members_of_a_family_do_not_narrow_the_interval() -> None:
    def width(samples: ScoredGraphs) -> float:
        bounds = estimate(samples).at("s", 0)
        return bounds.high - bounds.low

    clustered = family_samples(20, 50, 0)
    alone = [ScoredGraph(s.speedup, s.t, s.fault, s.graph, s.graph) for s in clustered]
    assert width(columns(clustered)) > 4 * width(columns(alone))


def test_intervals_cover_as_often_as_they_say() -> None:
    """95 % intervals of 200 draws of 40 families hold the truth about 95 % of the time."""
    random = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        centres = random.normal(0.1, 0.5, 40)
        rows = [
            ScoredGraph(math.exp(centre), -5.0, Fault.NONE, f"{number}.{k}", str(number))
            for number, centre in enumerate(centres)
            for k in range(3)
        ]
        bounds = estimate(columns(rows), ts=[0], draws=300).at("s", 0)
        held += bounds.low <= math.exp(0.1) <= bounds.high
    assert 175 <= held <= 199


def test_the_same_seed_draws_the_same() -> None:
    samples = columns(family_samples(12, 3, 0))
    assert estimate(samples).at("s", 0) == estimate(samples).at("s", 0)
    assert estimate(samples).at("s", 0) != estimate(samples, seed=1).at("s", 0)


def test_weights_draw_as_many_clusters_as_there_are() -> None:
    weights = np.concatenate(list(draw_weights(3_000_000, 3, 0)))
    assert weights.shape == (3, 3_000_000)
    assert (weights.sum(axis=1) == 3_000_000).all()
    assert not np.array_equal(weights[0], weights[1])


def test_a_small_but_steady_lead_is_told_apart_by_pairing() -> None:
    curves = {
        "better": columns(family_samples(30, 3, 0, shift=0.05)),
        "worse": columns(family_samples(30, 3, 1)),
    }
    alone = [estimate(samples).at("s", 0) for samples in curves.values()]
    assert alone[1].high > alone[0].low, "unpaired, the intervals overlap"
    found = rank(curves)
    assert found.order == ("better", "worse")
    pair = found.pair("worse", "better")
    assert pair.significant
    assert pair.ratio.low > 1
    assert (pair.graphs, pair.families) == (90, 30)


def test_what_is_the_same_is_not_told_apart() -> None:
    curves = {str(seed): columns(family_samples(30, 3, seed)) for seed in range(3)}
    assert not any(pair.significant for pair in rank(curves).pairs)


def test_pairs_are_compared_on_the_graphs_both_have() -> None:
    many, few = family_samples(12, 2, 0), family_samples(12, 2, 0)[4:9]
    extra = [ScoredGraph(None, None, Fault.COMPILE, f"other{n}", f"o{n}") for n in range(50)]
    first, second = common(columns([*many, *extra]), columns(few[::-1]))
    assert list(first.graph) == list(second.graph)
    assert sorted(first.graph) == sorted(sample.graph for sample in few)
    pair = rank({"many": columns([*many, *extra]), "few": columns(few)}).pairs[0]
    assert pair.ratio.value == pytest.approx(1.0)
    assert not pair.significant


def test_nothing_in_common_is_no_verdict() -> None:
    pair = rank({n: columns([ScoredGraph(2.0, -5.0, Fault.NONE, n)]) for n in "ab"}).pairs[0]
    assert (pair.graphs, pair.significant) == (0, False)


def test_holm_stops_at_the_first_that_stands() -> None:
    """The level of each test; from the first that is not reached on it stays."""
    assert _holm([0.01, 0.04, 0.03], 0.05) == pytest.approx([0.05 / 3, 0.025, 0.025])
    assert _holm([0.01, 0.02, 0.04], 0.05) == pytest.approx([0.05 / 3, 0.025, 0.05])


def test_pairing_holds_where_one_has_families_the_other_lacks() -> None:
    extra = [ScoredGraph(9.0, -5.0, Fault.NONE, f"x{n}", f"a{n}") for n in range(25)]
    curves = {
        "better": columns([*extra, *family_samples(30, 3, 0, shift=0.05)]),
        "worse": columns(family_samples(30, 3, 1)),
    }
    pair = rank(curves).pairs[0]
    assert (pair.families, pair.significant) == (30, True)
    assert pair.ratio.high / pair.ratio.low < 1.1


def test_families_that_were_taken_out_are_not_drawn() -> None:
    rows = family_samples(30, 2, 0)
    some = columns(rows).take(np.arange(40, 60))
    found, fresh = estimate(some), estimate(columns(rows[40:]))
    assert found.families == fresh.families == 10
    assert found.at("s", 0) == fresh.at("s", 0)


def test_pairing_holds_where_families_have_other_names() -> None:
    renamed = [
        ScoredGraph(s.speedup, s.t, s.fault, s.graph, f"z{99 - int(s.family[1:])}")
        for s in family_samples(30, 3, 1)
    ]
    better = columns(family_samples(30, 3, 0, shift=0.05))
    pair = rank({"better": better, "worse": columns(renamed)}).pairs[0]
    assert pair.significant
    assert pair.ratio.high / pair.ratio.low < 1.1


def led(*leads: float) -> dict[str, ScoredGraphs]:
    """Two compilers, of which the first leads by so much in each family."""
    rows = [(lead, f"g{n}.{k}", f"f{n}") for n, lead in enumerate(leads) for k in range(3)]
    better = [ScoredGraph(math.exp(lead), -5.0, Fault.NONE, graph, f) for lead, graph, f in rows]
    worse = [ScoredGraph(1.0, -5.0, Fault.NONE, graph, f) for _, graph, f in rows]
    return {"better": columns(better), "worse": columns(worse)}


def test_three_families_that_agree_on_the_sign_alone_tell_nobody_apart() -> None:
    pair = rank(led(0.2, 0.5, 0.9)).pairs[0]
    assert pair.ratio.value > 1.4
    assert pair.ratio.contains(1)
    assert (pair.p_value > 0.05, pair.significant) == (True, False)
    assert rank(led(0.49, 0.5, 0.51)).pairs[0].significant


def test_a_verdict_and_its_interval_never_disagree() -> None:
    """Eight compilers, twenty-eight pairs: what is corrected for is in the interval too."""
    curves = {
        str(n): columns(family_samples(12, 2, 10 + n, shift=0.02 * n, within=0.08))
        for n in range(8)
    }
    pairs = rank(curves).pairs
    assert {pair.significant for pair in pairs} == {True, False}
    for pair in pairs:
        assert pair.significant == (pair.ratio.low > 1 or pair.ratio.high < 1)
    # Holm: the interval of what stands is that of the least of them, wider than 95 % alone.
    two = {name: curves[name] for name in ("2", "4")}
    (alone,) = rank(two).pairs
    among = rank(curves).pair("4", "2")
    assert among.p_value == alone.p_value
    assert among.ratio.high / among.ratio.low > alone.ratio.high / alone.ratio.low


@pytest.mark.parametrize("doubt", [0.1, 0.3])
def test_an_interval_holds_the_doubt_of_each_measurement(doubt: float) -> None:
    """Measured exactly alike, all doubt is that of measuring: a mean of n has it over sqrt(n)."""
    rows = [
        ScoredGraph(1.3, -5.0, Fault.NONE, f"g{n}", f"f{n}", doubt=doubt, control=1.0)
        for n in range(16)
    ]
    found = estimate(columns(rows), draws=4000).at("s", 0)
    assert math.log(found.high / 1.3) == pytest.approx(1.96 * doubt / 4, rel=0.1)
    assert math.log(1.3 / found.low) == pytest.approx(1.96 * doubt / 4, rel=0.1)


def test_what_moves_eager_against_itself_widens_the_interval_of_all() -> None:
    """Averaging cannot remove what every measurement of a run shares."""
    rows = [ScoredGraph(1.3, -5.0, Fault.NONE, f"g{n}", f"f{n}", control=1.2) for n in range(100)]
    found = estimate(columns(rows), draws=4000).at("s", 0)
    assert math.log(found.high / 1.3) == pytest.approx(1.96 * math.log(1.2), rel=0.1)


def test_the_doubt_of_one_graph_is_that_of_its_measurement() -> None:
    found = estimate(columns([ScoredGraph(1.3, -5.0, Fault.NONE, "g", doubt=0.1)]), draws=4000)
    assert found.alone
    assert math.log(found.at("s", 0).high / 1.3) == pytest.approx(0.196, rel=0.1)
    assert estimate(columns([ScoredGraph(1.3, -5.0)])).at("s", 0) == Interval(1.3, 1.3, 1.3)


def test_a_slowdown_counts_its_doubt_as_often_as_it_counts() -> None:
    """With p = 1 a slowdown is squared, and so is its error."""
    rows = [ScoredGraph(0.5, -5.0, Fault.NONE, "g", doubt=0.1)]
    found = estimate(columns(rows), Parameters(p=1.0), draws=4000).at("s", 0)
    assert found.value == pytest.approx(0.25)
    assert math.log(found.high / 0.25) == pytest.approx(2 * 0.196, rel=0.1)


def test_few_families_make_intervals_wider_by_students_t() -> None:
    assert t_quantile(1, 0.975) == pytest.approx(12.7062, rel=1e-4)
    assert t_quantile(4, 0.975) == pytest.approx(2.77645, rel=1e-4)
    assert t_quantile(9, 0.995) == pytest.approx(3.24984, rel=1e-4)
    assert t_quantile(10_000, 0.975) == pytest.approx(1.96, rel=1e-3)
    assert stretch_factor(1, 0.95) == 1.0
    assert stretch_factor(5, 0.95) == pytest.approx(math.sqrt(5 / 4) * 2.77645 / 1.95996, rel=1e-4)
    assert stretch_factor(1000, 0.95) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("place", [1, 2, 8, 9, 13], ids=lambda place: list(worlds())[place].name)
def test_simulated_measurements_are_covered(place: int) -> None:
    """A part of benchmarks/coverage.py: every sample simulated, A/A and with known speedups."""
    share, _ = coverage(list(worlds())[place], runs=100)
    assert share >= 0.93


def test_without_the_doubt_of_measuring_noise_passes_for_a_speedup() -> None:
    busy = next(world for world in worlds() if world.name == "A/A, busy, 30 graphs")
    assert coverage(busy, runs=60, measuring=False)[0] < 0.93 <= coverage(busy, runs=60)[0]
