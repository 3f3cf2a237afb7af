"""Groups of like failures: by stage, symptom and signature."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from graph_net.report.page_rows import MESSAGE, PageEntry
from graph_net.results import Failure, Stage, Symptom
from graph_net.results.signature import signature_of

EXAMPLES = 5


@dataclass
class FailureGroup:
    """Failures of one kind; ``message`` is the first one's, ``examples`` are indices of entries.

    ``varied`` messages differ in what a signature masks.
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
        """The number of measurements that failed this way."""
        return self.compilers.total()


def cluster_key(failure: Failure) -> tuple[Stage, Symptom, str]:
    """Return the key of a failure's group."""
    return failure.stage, failure.symptom, failure.signature or signature_of(failure.message)


def clusters_of(entries: list[PageEntry]) -> dict[tuple[Stage, Symptom, str], FailureGroup]:
    """Group failures: those that count first, by stage, the largest first."""
    groups: dict[tuple[Stage, Symptom, str], FailureGroup] = {}
    for index, entry in enumerate(entries):
        failure = entry.failure
        if failure is None:
            continue
        key = cluster_key(failure)
        blamed = entry.sample is not None and not entry.too_noisy
        group = groups.setdefault(key, FailureGroup(*key, blamed, failure.message[:MESSAGE]))
        group.varied |= failure.message[:MESSAGE] != group.message
        group.compilers[entry.config.label] += 1
        if len(group.examples) < EXAMPLES:
            group.examples.append(index)
    stages = list(Stage)
    order = sorted(
        groups.items(),
        key=lambda item: (not item[1].blamed, stages.index(item[1].stage), -item[1].count),
    )
    return dict(order)
