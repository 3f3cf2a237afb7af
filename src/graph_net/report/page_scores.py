"""The scores on the page: a curve per compiler, computed as by ``graph-net score``."""

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
    """A configuration on a device under a protocol; ``estimate`` is None if nothing counts."""

    label: str
    config: Config
    device: Device
    samples: ScoredGraphs
    estimate: Estimate | None


@dataclass(frozen=True)
class Scores:
    """All curves, best first, every pair of them, the index of each, and eager against itself."""

    curves: tuple[Curve, ...]
    pairs: tuple[Pair, ...]
    index: dict[CurveKey, int]
    control: Estimate | None = None


def scores_of(entries: list[PageEntry], parameters: Parameters) -> Scores:
    """Return the scores of measurements."""
    groups: dict[CurveKey, list[PageEntry]] = defaultdict(list)
    for entry in entries:
        groups[entry.curve].append(entry)
    labels = _labels({key: members[0] for key, members in groups.items()})
    curves = {key: _curve(labels[key], members, parameters) for key, members in groups.items()}
    scored = {
        labels[key]: curve.samples for key, curve in curves.items() if curve.estimate is not None
    }
    pairs = rank(scored, parameters).pairs if len(scored) > 1 else ()
    order = sorted(curves, key=lambda key: (-_aggregate(curves[key]), labels[key]))
    index = {key: number for number, key in enumerate(order)}
    control = control_of(scored.values())
    eager = None if control is None else estimate(control, parameters)
    return Scores(tuple(curves[key] for key in order), pairs, index, eager)


def _curve(label: str, members: list[PageEntry], parameters: Parameters) -> Curve:
    blameless = Counter(
        str(entry.failure.symptom)
        for entry in members
        if entry.sample is None and entry.failure is not None
    )
    samples = columns((e.sample for e in members if e.sample is not None), dict(blameless))
    scores = estimate(samples, parameters) if len(samples) else None
    return Curve(label, members[0].config, members[0].device, samples, scores)


def _aggregate(curve: Curve) -> float:
    """Return what curves are ordered by; those without a score come last."""
    if curve.estimate is None or curve.estimate.graphnet is None:
        return float("-inf")
    return curve.estimate.graphnet.value


def _labels(examples: dict[CurveKey, PageEntry]) -> dict[CurveKey, str]:
    """Return a name for each curve, no longer than it takes to distinguish them."""
    names = [
        (e.config.label, e.config.version, e.device.name, e.device.hash[:8],
         f"protocol {e.protocol[:8]}")
        for e in examples.values()
    ]  # fmt: skip
    return dict(zip(examples, distinct_labels(names), strict=True))
