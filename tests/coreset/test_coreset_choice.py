"""Few graphs for many: the choice, transitions, and the error that is stated for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.some_graphs import some_graph
from graph_net.coreset import (
    MeasuredGraphs,
    choose,
    count_transitions,
    cover,
    expected_errors,
    features_of,
    learn,
    values_of,
)
from graph_net.corpus.columns import row_of
from graph_net.score import graphnet_aggregate, score
from graph_net.score.samples import ScoredGraph, columns
from score.some_samples import some_samples


def a_table(rows: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, 6))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 60), st.integers(0, 1000))
def test_a_choice_has_the_asked_number_of_different_graphs(
    rows: int, count: int, seed: int
) -> None:
    chosen = choose(a_table(rows, seed), count, seed)
    assert len(set(chosen.tolist())) == len(chosen) == min(rows, count)
    assert all(0 <= place < rows for place in chosen)


def test_the_mean_of_the_chosen_is_nearer_than_that_of_any_lot() -> None:
    table = a_table(300)
    chosen = choose(table, 20)
    away = np.linalg.norm(table[chosen].mean(axis=0) - table.mean(axis=0))
    luck = np.random.default_rng(1)
    lots = [
        np.linalg.norm(table[luck.choice(300, 20, replace=False)].mean(axis=0) - table.mean(axis=0))
        for _ in range(500)
    ]
    assert away < min(lots)


@settings(max_examples=60, deadline=None)
@given(st.lists(some_samples(), min_size=1, max_size=20))
def test_the_aggregate_of_many_is_the_mean_of_their_values(
    given_samples: list[ScoredGraph],
) -> None:
    samples = columns(given_samples)
    whole = float(graphnet_aggregate(score(samples))[0])
    assert float(values_of(samples).mean()) == pytest.approx(whole, abs=1e-9)


def test_features_need_no_graph_and_tell_sizes_apart() -> None:
    rows = [row_of(f"g{i}", some_graph(i)) for i in range(12)]
    table = features_of([{name: row[name] for name in row if name != "graph"} for row in rows])
    assert len(table) == 12
    assert np.isfinite(table).all()
    assert not np.allclose(table[1], table[8])


def test_what_decides_a_score_is_learnt() -> None:
    table = a_table(400)
    relevance = learn(table, 0.7 * table[:, 2] + 0.1)
    assert np.argmax(np.abs(relevance.slopes)) == 2
    assert np.corrcoef(relevance.predict(a_table(100, 5)), a_table(100, 5)[:, 2])[0, 1] > 0.99


def test_transitions_cover_greedily() -> None:
    graphs = {f"g{number}": some_graph(number) for number in range(9)}
    found = count_transitions(graphs.items(), graphs)
    back = count_transitions(reversed(list(graphs.items())), graphs)
    kinds = [{one.kinds[kind] for kind in one.has[4]} for one in (found, back)]
    assert kinds[0] == kinds[1] != set()
    assert found.mass.sum() == pytest.approx(1)
    first = cover(found, 1)
    assert found.covered(first) == max(found.covered([place]) for place in range(9))
    grown = [found.covered(cover(found, count)) for count in range(1, 10)]
    assert grown == sorted(grown)
    assert grown[-1] == pytest.approx(1)
    assert len(set(cover(found, 9).tolist())) == 9


def a_measurement(rows: int, noise: float, seed: int = 0) -> tuple[np.ndarray, MeasuredGraphs]:
    """A table and a compiler whose values follow two of its features, more or less."""
    table = a_table(rows, seed)
    luck = np.random.default_rng(seed + 1)
    values = table[:, 0] - table[:, 3] + noise * luck.normal(size=rows)
    return table, MeasuredGraphs(np.arange(rows), np.arange(rows) // 2, 0.1 * values)


def test_the_stated_error_is_that_of_a_fresh_corpus() -> None:
    """The error stated for random choices is the one that sampling theory gives."""
    table, measured = a_measurement(400, 1.0)
    (by_lot,) = (e for e in expected_errors(table, [measured], 16) if e.method == "random")
    spread = float(measured.values.std())
    theory = 10 ** (spread / np.sqrt(16) * np.sqrt(1 - 16 / 400))
    assert by_lot.factor - 1 == pytest.approx(theory - 1, rel=0.15)
    assert by_lot.at(64, 400) < by_lot.factor < by_lot.at(4, 400)


def test_a_coreset_is_better_than_chance_where_features_tell_the_score() -> None:
    table, measured = a_measurement(200, 0.2)
    errors = {e.method: e.factor for e in expected_errors(table, [measured], 16)}
    assert errors["coreset"] - 1 < 0.5 * (errors["random"] - 1)
    assert "markov" not in errors


def test_few_measured_graphs_say_nothing() -> None:
    table, measured = a_measurement(10, 0.2)
    assert all(e.trials == 0 for e in expected_errors(table, [measured], 16))
