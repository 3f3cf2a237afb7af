"""Draw layouts: at random, and from the best measured so far."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from enum import StrEnum

from graph_net.configs.layouts.layout_config import Layout, default_layout
from graph_net.configs.layouts.sites import DEFAULT, Setting, Site, SiteKind

SHARES = (0.03, 0.1, 0.3, 0.6, 1.0)
"""Shares of the sites that a random layout sets; one is drawn first."""
MUTATION = 0.05
TOURNAMENT = 4
KEPT = 24
"""Number of best layouts that parents are drawn from."""
TRIES = 256
"""Draws without a new layout after which a graph counts as exhausted."""


class SearchKind(StrEnum):
    """How a layout was found."""

    RANDOM = "random"
    GENETIC = "genetic"


def uniform_layouts(sites: Sequence[Site]) -> list[Layout]:
    """Return layouts that set all nodes of a kind alike: what a person would try first.

    All convolution kernels channels-last, with and without their inputs; all matrices of products
    column-major; every permutation materialised at once.
    """
    found: list[Layout] = []
    for kind, choose in (
        (SiteKind.CONVOLUTION, lambda s: Setting(kernel=_last(s.choices).kernel)),
        (SiteKind.CONVOLUTION, lambda s: Setting(None, _last(s.choices).input, None)),
        (SiteKind.CONVOLUTION, lambda s: _last(s.choices)),
        (SiteKind.MATMUL, lambda s: Setting(kernel=_last(s.choices).kernel)),
        (SiteKind.MATMUL, lambda s: Setting(None, _last(s.choices).input, None)),
        (SiteKind.PERMUTE, lambda s: Setting(_first(s.choices).output)),
        (SiteKind.RESHAPE, lambda s: Setting(_first(s.choices).output)),
    ):
        found.append(_of_kind(sites, kind, choose))
    return [layout for layout in dict.fromkeys(found) if layout != default_layout(sites)]


def _of_kind(sites: Sequence[Site], kind: SiteKind, choose: Callable[[Site], Setting]) -> Layout:
    return tuple(choose(site) if site.kind is kind else DEFAULT for site in sites)


def _last(choices: Sequence[Setting]) -> Setting:
    """Return the setting with every order non-contiguous."""
    return choices[-1]


def _first(choices: Sequence[Setting]) -> Setting:
    """Return the setting with every order contiguous."""
    orders = []
    for place in range(3):
        found = [setting.orders[place] for setting in choices]
        orders.append(next((order for order in found if order is not None), None))
    return Setting(*orders)


def random_layout(sites: Sequence[Site], rng: random.Random) -> Layout:
    """Return a layout that sets some of the sites at random."""
    share = rng.choice(SHARES)
    return tuple(rng.choice(site.choices) if rng.random() < share else DEFAULT for site in sites)


def child_layout(sites: Sequence[Site], parents: Sequence[Layout], rng: random.Random) -> Layout:
    """Return a layout that mixes two parents site by site, with a few settings redrawn.

    ``parents`` are sorted, the fastest first; each parent is the better of a few draws.
    """
    first, second = (parents[min(rng.choices(range(len(parents)), k=TOURNAMENT))] for _ in "ab")
    mixed = [a if rng.random() < 0.5 else b for a, b in zip(first, second, strict=True)]
    changed = rng.randrange(len(sites))
    return tuple(
        rng.choice(site.choices) if place == changed or rng.random() < MUTATION else setting
        for place, (site, setting) in enumerate(zip(sites, mixed, strict=True))
    )


def draw_layouts(
    sites: Sequence[Site],
    count: int,
    seen: set[Layout],
    parents: Sequence[Layout],
    seed: int,
) -> list[Layout]:
    """Return up to ``count`` unseen layouts: children of ``parents``, else random ones."""
    rng = random.Random(seed)  # noqa: S311
    found: list[Layout] = []
    misses = 0
    known = {*seen, default_layout(sites)}
    while len(found) < count and misses < TRIES:
        layout = child_layout(sites, parents[:KEPT], rng) if parents else random_layout(sites, rng)
        if layout in known:
            misses += 1
            continue
        misses = 0
        known.add(layout)
        found.append(layout)
    return found
