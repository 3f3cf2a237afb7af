"""The model of choices that the package ships: its rule, its card and the data it was made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_net.programs.triton.target import H200
from graph_net.search.inductor.case import FILE, load_cases
from graph_net.search.inductor.choice_judge import judge
from graph_net.search.inductor.choice_model import COLUMNS, ChoiceModel, load_choices
from graph_net.search.inductor.choice_rule import SIZES
from graph_net.search.inductor.families import inductor_family
from graph_net.search.inductor.plugin import SHIPPED
from graph_net.search.inductor.timed_call import read_timed
from graph_net.search.inductor.train import TIMINGS, kernel_table
from graph_net.search.inductor.training import MEMBERS, rule_of, score_unseen
from graph_net.search.inductor.training_data import TimedTiles, timed_tiles

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def shipped() -> ChoiceModel:
    """The shipped model."""
    return load_choices(SHIPPED)


@pytest.fixture(scope="module")
def learned() -> list[TimedTiles]:
    """The operations that it was trained on."""
    cases = [case for case in load_cases(ROOT / FILE) if not case.held_out]
    return timed_tiles(read_timed(ROOT / TIMINGS), H200, cases)


def test_its_members_fit_its_rule(shipped: ChoiceModel) -> None:
    assert len(shipped.members) == shipped.rule.members == MEMBERS
    assert {member.columns for member in shipped.members} == {len(COLUMNS)}
    assert all(len(rule.lows) == len(SIZES) for rule in shipped.rule.kernels.values())
    assert len(list(SHIPPED.glob("trees-*.txt"))) == MEMBERS


def test_its_domain_and_efforts_are_those_of_the_data_set(
    shipped: ChoiceModel, learned: list[TimedTiles]
) -> None:
    fresh = rule_of(learned, H200)
    assert fresh.kernels.keys() == shipped.rule.kernels.keys()
    for kernel, rule in shipped.rule.kernels.items():
        made = fresh.kernels[kernel]
        assert (rule.dtypes, rule.effort, rule.seconds) == (made.dtypes, made.effort, made.seconds)
        assert rule.lows == pytest.approx(made.lows)
        assert rule.highs == pytest.approx(made.highs)


def test_its_rule_fits_what_its_members_learned(
    shipped: ChoiceModel, learned: list[TimedTiles]
) -> None:
    products = [one for one in learned if one.kind == "products"]
    kept = judge(shipped, score_unseen(shipped, products))
    assert kept.mean <= 1.003
    assert kept.worst <= 1.05
    assert kept.effort <= 0.25


def test_held_out_products_and_convolutions_are_in_its_domain(shipped: ChoiceModel) -> None:
    cases = [case for case in load_cases(ROOT / FILE) if case.held_out]
    for case in cases:
        if case.kind in ("products", "convolutions"):
            family = inductor_family(case.parsed, H200)
            assert shipped.rule.of(family).has(family), case.key


def test_its_card_has_the_numbers_of_its_rule(shipped: ChoiceModel) -> None:
    card = (SHIPPED / "README.md").read_text("utf-8")
    assert kernel_table(shipped.rule) in card
    assert f"{MEMBERS} members" in card
