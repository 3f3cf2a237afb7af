"""What is collected: products, convolutions and rows out of networks that people use.

A workload that several networks have is one workload with all their names, so that holding a
network out means holding out everything that occurs in it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from graph_net.programs.spaces.space import SpaceError, Workload
from graph_net.programs.triton.layers import Module
from graph_net.programs.triton.networks import networks
from graph_net.programs.triton.space import workload_of
from graph_net.results import canonical
from graph_net.store.files import read_text

HELD_OUT = (
    "resnet50-1x224",
    "mobilenet_v2-1x224",
    "bert_base-1x128",
    "vit_l16-8x224",
    "llama3_8b-64x1",
)
"""Networks whose tasks no model is trained on: three of TenSet's that are here, and two more."""


MOST_BYTES = 64 << 20
"""Of a file of tasks."""


@dataclass(frozen=True)
class Collected:
    """A workload, and the networks it comes from."""

    workload: Workload
    weights: Mapping[str, int]
    """How often each network calls it."""


def collect_workloads() -> list[Collected]:
    """All of them, each once, in a fixed order."""
    calls: dict[str, Counter[str]] = {}
    modules: dict[str, Module] = {}
    for network, layers in networks():
        for module in layers:
            key = canonical(module)
            modules[key] = module
            calls.setdefault(key, Counter())[network] += 1
    return [Collected(workload_of(modules[key]), calls[key]) for key in modules]


def write_tasks(path: Path, tasks: Sequence[Collected]) -> None:
    """Write tasks for a machine that cannot find them itself."""
    trees = [[json.loads(task.workload.module), dict(task.weights)] for task in tasks]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{canonical(tree)}\n" for tree in trees))


def read_tasks(path: Path) -> list[Collected]:
    """Return the tasks of a file; raises ValueError on what is none, with its line."""
    tasks = []
    for number, line in enumerate(read_text(path, MOST_BYTES).splitlines(), 1):
        try:
            module, weights = json.loads(line)
            counts = {str(network): int(count) for network, count in weights.items()}
            tasks.append(Collected(workload_of(module), counts))
        except (SpaceError, ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}, line {number}: not a task: {error}") from error
    return tasks
