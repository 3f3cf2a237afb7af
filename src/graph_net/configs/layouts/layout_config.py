"""A layout of a graph as data: canonical JSON, a Config with a hash, a vector of codes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from graph_net.configs.layout_codes import order_number
from graph_net.configs.layouts.orders import Order
from graph_net.configs.layouts.sites import DEFAULT, LayoutError, Setting, Site
from graph_net.results import Config, ConfigKind, canonical

FORMAT = "eager_layout"
"""Format name of the tasks and programs of such layouts."""
SCHEDULE = "schedule"
MOST_TEXT = 1 << 20

Layout = tuple[Setting, ...]
"""A setting for each site, in order."""


def default_layout(sites: Sequence[Site]) -> Layout:
    """Return the layout that changes nothing."""
    return (DEFAULT,) * len(sites)


def layout_text(layout: Layout) -> str:
    """Return a layout as canonical JSON: ``[[0,431,0],…]``, output, input and kernel of a site.

    Dimensions count from 1, the most minor first; 0 is an order that is not set.
    """
    return canonical(
        [[order_number(order or ()) for order in setting.orders] for setting in layout]
    )


def read_layout(text: str, sites: Sequence[Site]) -> Layout:
    """Parse a layout; raise LayoutError if it does not fit these sites."""
    if len(text) > MOST_TEXT:
        raise LayoutError(f"a layout of {len(text):,} characters; {MOST_TEXT:,} are read")
    try:
        rows = json.loads(text)
        layout = tuple(Setting(*(_order(number) for number in row)) for row in rows)
    except (ValueError, TypeError, RecursionError) as error:
        raise LayoutError(f"not a layout: {text[:80]!r} ({error})") from error
    if len(layout) != len(sites):
        raise LayoutError(f"a layout of {len(layout)} nodes; the graph has {len(sites)} to choose")
    for number, (setting, site) in enumerate(zip(layout, sites, strict=True)):
        if why := site.refusal(setting):
            raise LayoutError(f"site {number}: {why}")
    return layout


def _order(number: object) -> Order | None:
    if type(number) is not int or number < 0:
        raise ValueError(f"{number!r} is not an order")
    return tuple(int(digit) - 1 for digit in str(number)) if number else None


def layout_config(layout: Layout) -> Config:
    """Return the Config of kind layout."""
    return Config(ConfigKind.LAYOUT, FORMAT, "", {SCHEDULE: layout_text(layout)})


def codes_of(layout: Layout, sites: Sequence[Site]) -> tuple[int, ...]:
    """Return a layout as a vector: the index of each site's setting among its choices.

    A setting that no search draws has the index after the last.
    """
    return tuple(
        site.choices.index(setting) if setting in site.choices else len(site.choices)
        for setting, site in zip(layout, sites, strict=True)
    )


def layout_of_codes(codes: Sequence[int], sites: Sequence[Site]) -> Layout:
    """Return the layout of a vector of codes."""
    return tuple(site.choices[code] for code, site in zip(codes, sites, strict=True))
