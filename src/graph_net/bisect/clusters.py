"""Clusters of equal witnesses of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from graph_net.bisect.problem import Defect
from graph_net.bisect.search import Witness


@dataclass(frozen=True)
class WitnessCluster:
    """One apparent defect: a compiler, a problem and the structure that shows it."""

    compiler: str
    shown: Defect
    witnesses: tuple[Witness, ...]

    @property
    def example(self) -> Witness:
        """The smallest witness."""
        return min(self.witnesses, key=lambda w: (len(w.graph.nodes), w.name))


def cluster_witnesses(witnesses: Iterable[Witness]) -> list[WitnessCluster]:
    """Group witnesses by compiler, problem and structure, the largest clusters first."""
    groups: defaultdict[tuple[str, Defect, str], list[Witness]] = defaultdict(list)
    for witness in witnesses:
        groups[witness.config.label, witness.shown, witness.graph.structure].append(witness)
    clusters = [
        WitnessCluster(compiler, defect, tuple(group))
        for (compiler, defect, _), group in groups.items()
    ]
    return sorted(clusters, key=lambda c: (-len(c.witnesses), c.compiler, c.example.name))
