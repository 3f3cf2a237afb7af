"""The tables of ``benchmarks.inductor_choices``: ratios to max-autotune, and claims."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import show, verdict
from graph_net.search.inductor.case import kind_of
from graph_net.search.inductor.families import FLEX
from graph_net.store.journal import whole_lines

BASE, STOCK, LEARNED = "max-autotune", "stock", "learned"
FEW = kind_of(FLEX)
"""A kind with six choices: a fifth of their tuning is about one, and not claimed."""
POOLED = ("products", "convolutions")
"""Kinds whose tuning is also shown together."""
MARGIN = 0.05
"""Ratios closer to 1 are not counted as faster or slower."""


def report(journal: Path) -> int:
    """Print the tables of a journal; return 0 where every claim holds."""
    lines = [json.loads(line) for line in whole_lines(journal)]
    groups = [line for line in lines if "group" in line]
    kinds: dict[str, list[Any]] = defaultdict(list)
    for line in groups:
        kinds[_kind(line["group"][0])].append(line)
    kinds["whole graphs"] = [line for line in lines if "graph" in line]
    held = [_show(name, found) for name, found in kinds.items() if found]
    _show_together([one for name in POOLED for one in kinds.get(name, ())])
    measured = {line.get("part") for line in lines}
    failed = {line["failed"] for line in lines if "failed" in line} - measured
    if not held:
        print(f"{journal} has no comparison: `kernels` and `graphs` write them")
    if failed:
        print("failed:", ", ".join(sorted(failed)))
    return 0 if held and all(held) and not failed else 1


def _kind(key: str) -> str:
    """Return the kind of a case from its key."""
    fields = dict(pair.split("=", 1) for pair in key.split(","))
    return kind_of(fields["kernel"])


def _times(lines: Iterable[Any]) -> list[dict[str, float]]:
    """Return the milliseconds of each operation or graph that has both modes' times, by mode."""
    found = []
    for line in lines:
        found += [line["times"]] if "times" in line else list(line["kernels"].values())
    both = (BASE, LEARNED)
    return [
        times for times in found if all(math.isfinite(times.get(mode, math.nan)) for mode in both)
    ]


def _show(name: str, lines: Sequence[Any]) -> bool:
    """Print a kind's table; return whether its claims hold, which nothing measured does not."""
    times = _times(lines)
    count = sum(len(line.get("kernels", (1,))) for line in lines)
    if len(times) < count:
        print(f"{name}: {count - len(times)} of {count} have no time in both modes")
    rows, held = [], False
    for mode in dict.fromkeys(mode for one in times for mode in one):
        ratios = np.array(
            [one[mode] / one[BASE] for one in times if math.isfinite(one.get(mode, math.nan))]
        )
        if not ratios.size:  # ATen has no flex attention
            continue
        mean, worst = float(np.exp(np.log(ratios).mean())), float(ratios.max())
        cost = [line["cost"] for line in lines if mode in line["cost"]]
        wall = _tuning(cost, mode)
        timed = sum(one[mode]["choices"] for one in cost)
        tuned = f"{wall:.3f}" if cost else ""
        spread = [f"{ratios.min():.3f}", f"{worst:.3f}"]
        beyond = f"{(ratios < 1 - MARGIN).sum()}, {(ratios > 1 + MARGIN).sum()}"
        rows.append([mode, str(ratios.size), f"{mean:.4f}", *spread, beyond, tuned, str(timed)])
        if mode == LEARNED:
            held = _claims(name, mean, worst, wall)
    header = [
        "mode",
        "cases",
        "time, mean ratio",
        "best",
        "worst",
        "5 % faster, slower",
        "tuning",
        "choices timed",
    ]
    show(f"{name}, ratios to {BASE}", header, rows)
    _show_stock(name, lines)
    return held


def _show_stock(name: str, lines: Sequence[Any]) -> None:
    """Print the tuning of the groups that were measured with torch's own assemblers too."""
    costs = [line["cost"] for line in lines if STOCK in line["cost"]]
    stock, learned = (sum(one[mode]["tuning"] for one in costs) for mode in (STOCK, LEARNED))
    if stock:
        ratio = f"{learned:.2f} s, {learned / stock:.3f} of {STOCK}'s {stock:.1f} s"
        verdict(learned <= 0.2 * stock, f"{name}, groups with {STOCK}: learned is tuned in {ratio}")


def _tuning(costs: Sequence[Any], mode: str) -> float:
    """Return the seconds of tuning over those of max-autotune."""
    own, base = (sum(one[name]["tuning"] for one in costs) for name in (mode, BASE))
    return float(own / max(base, 1e-9))


def _show_together(lines: Sequence[Any]) -> None:
    """Print the tuning of kinds together, whose claims are made for each."""
    costs = [line["cost"] for line in lines if LEARNED in line["cost"]]
    if costs:
        wall = _tuning(costs, LEARNED)
        verdict(wall <= 0.2, f"{' and '.join(POOLED)} together, tuning: {wall:.3f}")


def _claims(name: str, mean: float, worst: float, wall: float) -> bool:
    return all(
        [
            verdict(
                mean <= 1.01, f"{name}: time at most 1.01 of max-autotune's on average: {mean:.4f}"
            ),
            verdict(worst <= 1.05, f"{name}: at most 1.05 at worst: {worst:.3f}"),
            name == FEW
            or verdict(wall <= 0.2, f"{name}: tuning at most 1/5 of max-autotune's: {wall:.3f}"),
        ]
    )
