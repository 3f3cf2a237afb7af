"""The scores on the page: a curve a compiler, from the functions ``graph-net score`` uses."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from graph_net.report.page_rows import CurveKey, PageEntry
from graph_net.results import Config, Device
from graph_net.score import (
    Estimate,
    Pair,
    Parameters,
    ScoredGraphs,
    columns,
    control_of,
    estimate,
    rank,
)
from graph_net.score.records import distinct_labels


@dataclass(frozen=True)
class Curve:
    """A configuration on a device under a protocol; ``estimate`` is None where nothing counts."""

    label: str
    config: Config
    device: Device
    samples: ScoredGraphs
    estimate: Estimate | None


@dataclass(frozen=True)
class Scores:
    """All curves, best first, every pair of them, the place of each, and eager against itself."""

    curves: tuple[Curve, ...]
    pairs: tuple[Pair, ...]
    place: dict[CurveKey, int]
    control: Estimate | None = None


def scores_of(entries: list[PageEntry], parameters: Parameters) -> Scores:
    """The scores of measurements."""
    groups: dict[CurveKey, list[PageEntry]] = defaultdict(list)
    for entry in entries:
        groups[entry.curve].append(entry)
    labels = _labels({key: members[0] for key, members in groups.items()})
    made = {key: _curve(labels[key], members, parameters) for key, members in groups.items()}
    scored = {
        labels[key]: curve.samples for key, curve in made.items() if curve.estimate is not None
    }
    pairs = rank(scored, parameters).pairs if len(scored) > 1 else ()
    order = sorted(made, key=lambda key: (-_aggregate(made[key]), labels[key]))
    place = {key: number for number, key in enumerate(order)}
    control = control_of(scored.values())
    eager = None if control is None else estimate(control, parameters)
    return Scores(tuple(made[key] for key in order), pairs, place, eager)


def _curve(label: str, members: list[PageEntry], parameters: Parameters) -> Curve:
    free = Counter(
        str(entry.failure.symptom)
        for entry in members
        if entry.sample is None and entry.failure is not None
    )
    samples = columns((e.sample for e in members if e.sample is not None), dict(free))
    found = estimate(samples, parameters) if len(samples) else None
    return Curve(label, members[0].config, members[0].device, samples, found)


def _aggregate(curve: Curve) -> float:
    """What curves are ordered by; those without a score come last."""
    if curve.estimate is None or curve.estimate.graphnet is None:
        return float("-inf")
    return curve.estimate.graphnet.value


def _labels(examples: dict[CurveKey, PageEntry]) -> dict[CurveKey, str]:
    """A name for each curve, no longer than it takes to distinguish them."""
    names = [
        (e.config.label, e.config.version, e.device.name, e.device.hash[:8],
         f"protocol {e.protocol[:8]}")
        for e in examples.values()
    ]  # fmt: skip
    return dict(zip(examples, distinct_labels(names), strict=True))
