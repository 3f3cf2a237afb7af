"""Failures that are alike, together: by stage, symptom and signature."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from graph_net.report.page_rows import MESSAGE, PageEntry
from graph_net.results import Failure, Stage, Symptom
from graph_net.results.signature import signature_of

EXAMPLES = 5


@dataclass
class FailureGroup:
    """Failures of one kind; ``message`` is the first one's, ``examples`` are places among entries.

    Messages of one kind may differ in what a signature masks: then they are ``varied``.
    """

    stage: Stage
    symptom: Symptom
    signature: str
    blamed: bool
    message: str
    compilers: Counter[str] = field(default_factory=Counter)
    examples: list[int] = field(default_factory=list)
    varied: bool = False

    @property
    def count(self) -> int:
        """How many measurements failed so."""
        return self.compilers.total()


def cluster_key(failure: Failure) -> tuple[Stage, Symptom, str]:
    """Equal for failures that are alike."""
    return failure.stage, failure.symptom, failure.signature or signature_of(failure.message)


def clusters_of(entries: list[PageEntry]) -> dict[tuple[Stage, Symptom, str], FailureGroup]:
    """The kinds of failures: those that count first, in the order of stages, largest first."""
    found: dict[tuple[Stage, Symptom, str], FailureGroup] = {}
    for place, entry in enumerate(entries):
        failure = entry.failure
        if failure is None:
            continue
        key = cluster_key(failure)
        blamed = entry.sample is not None and not entry.too_noisy
        cluster = found.setdefault(key, FailureGroup(*key, blamed, failure.message[:MESSAGE]))
        cluster.varied |= failure.message[:MESSAGE] != cluster.message
        cluster.compilers[entry.config.label] += 1
        if len(cluster.examples) < EXAMPLES:
            cluster.examples.append(place)
    stages = list(Stage)
    order = sorted(
        found.items(),
        key=lambda item: (not item[1].blamed, stages.index(item[1].stage), -item[1].count),
    )
    return dict(order)
