"""A task to collect programs of: a workload, and the networks that call it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from graph_net.programs.spaces.space import Workload
from graph_net.results import Json, Task, canonical


@dataclass(frozen=True)
class CollectedTask:
    """A workload, and how often each network calls it."""

    workload: Workload
    structure: str
    """Structure of the subgraph, then its id and bytes (base 64); empty for a part of a call."""
    graph: str
    subgraph: str = ""
    weights: Mapping[str, int] = field(default_factory=dict)
    """How often each network calls it."""
    portable: bool = False
    """Whether programs carry the module and weights, which makes a file of them self-contained."""

    def named(self, target: str) -> Task:
        """Return the Task that programs for ``target`` refer to."""
        work = self.workload
        details: dict[str, Json] = {
            "flops": work.flops,
            "graph": self.graph,
            "structure": self.structure,
        }
        if self.portable:
            details |= {"module": json.loads(work.module), "weights": dict(self.weights)}
        return Task(work.space, work.hash, work.name, target, canonical(details))
