"""The numbers of the page as compact columns for its program."""

from __future__ import annotations

import math
from typing import Any

from graph_net.report.page_assets import round_number
from graph_net.report.page_failures import FailureGroup, cluster_key
from graph_net.report.page_rows import PageEntry
from graph_net.report.page_scores import Scores
from graph_net.results import Verdict
from graph_net.score import INTERPRETATIONS, Parameters

FINE = 7
"""Significant digits of the numbers that scores are computed from."""
VERDICTS = list(Verdict)
NOT_COUNTED = -1


def data_of(
    entries: list[PageEntry],
    scores: Scores,
    clusters: dict[Any, FailureGroup],
    drawn: list[str],
    parameters: Parameters,
) -> dict[str, Any]:
    """Return all data of the page's program except raw samples and graphs."""
    graphs = {entry.subject.id: entry.subject for entry in entries}
    number = {graph_id: index for index, graph_id in enumerate(graphs)}
    drawings = {graph_id: index for index, graph_id in enumerate(drawn)}
    families = sorted({entry.sample.family for entry in entries if entry.sample is not None})
    cluster = {key: index for index, key in enumerate(clusters)}
    return {
        "parameters": {"p": parameters.p, "b": parameters.b},
        "interpretation": parameters.interpretation.name,
        "interpretations": {
            name: [level if math.isfinite(level) else None for level in interpretation.levels()]
            for name, interpretation in INTERPRETATIONS.items()
        },
        "compilers": [curve.label for curve in scores.curves],
        "verdicts": VERDICTS,
        "clusters": [
            [group.stage, group.symptom, group.signature, group.blamed]
            for group in clusters.values()
        ],
        "graphs": {
            "id": list(graphs),
            "name": [subject.name for subject in graphs.values()],
            "category": [subject.category for subject in graphs.values()],
            "library": [subject.library for subject in graphs.values()],
            "model": [subject.model for subject in graphs.values()],
            "drawing": [drawings.get(graph_id, -1) for graph_id in graphs],
        },
        "rows": _rows(entries, scores, number, families, cluster),
    }


def _rows(
    entries: list[PageEntry],
    scores: Scores,
    number: dict[str, int],
    families: list[str],
    cluster: dict[Any, int],
) -> dict[str, list[Any]]:
    family = {name: index for index, name in enumerate(families)}
    samples = [entry.sample for entry in entries]
    headrooms = [entry.headroom for entry in entries]
    return {
        "compiler": [scores.index[entry.curve] for entry in entries],
        "graph": [number[entry.subject.id] for entry in entries],
        "family": [-1 if sample is None else family[sample.family] for sample in samples],
        "fault": [NOT_COUNTED if sample is None else int(sample.fault) for sample in samples],
        "ratio": [
            None if sample is None else round_number(sample.speedup, FINE) for sample in samples
        ],
        "t": [round_number(entry.t, FINE) for entry in entries],
        "verdict": [_verdict(entry) for entry in entries],
        "cluster": [
            -1 if entry.failure is None else cluster[cluster_key(entry.failure)]
            for entry in entries
        ],
        "cold": [round_number(entry.cost.cold_seconds) for entry in entries],
        "warm": [round_number(entry.cost.warm_seconds) for entry in entries],
        "floor": [h and round_number(h.floor.seconds) for h in headrooms],
        "headroom": [h and round_number(h.ratio) for h in headrooms],  # None if FLOPs are unknown
        "impossible": [h is not None and h.impossible for h in headrooms],
        "memory": [round_number(entry.cost.candidate_peak_bytes) for entry in entries],
        "eager_memory": [round_number(entry.cost.eager_peak_bytes) for entry in entries],
        **{
            f"{name}{end}": [_number(entry, name, index) for entry in entries]
            for name in ("speedup", "noise")
            for index, end in enumerate(("", "_low", "_high"))
        },
    }


def _verdict(entry: PageEntry) -> int:
    """Return the index of the verdict; -1 for a failure, whatever its samples say."""
    if entry.measured is None or entry.failure is not None:
        return -1
    return VERDICTS.index(entry.measured.verdict)


def _number(entry: PageEntry, name: str, index: int) -> float | None:
    interval = None if entry.measured is None else getattr(entry.measured, name)
    return None if interval is None else round_number(interval[index])
