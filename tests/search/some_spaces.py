"""A space of which every program's cost is known, small enough to search in a test."""

from __future__ import annotations

import json
from itertools import product

import numpy as np

from graph_net.learn.learning_set import LearningTask, tabular_set
from graph_net.results import canonical
from graph_net.search.measurer import ReplayMeasurer
from graph_net.search.replay import ReplayedTask, encode_parameters
from graph_net.search.search_space import ListedSpace

BLOCKS, WARPS = (16, 32, 48, 64, 96, 128), (1, 2, 4, 8)


def cost(config: dict[str, int]) -> float:
    """Seconds: a bowl around 64 × 64 with 4 warps; one corner fails."""
    if config["block_m"] == config["block_n"] == 128 and config["warps"] == 1:
        return float("inf")
    away = sum((np.log2(config[name]) - 6) ** 2 for name in ("block_m", "block_n"))
    return float(1e-5 * (1 + 0.2 * away + 0.3 * (np.log2(config["warps"]) - 2) ** 2))


def bowl() -> ReplayedTask:
    """Return 144 programs whose best is in the middle."""
    names = ("block_m", "block_n", "warps")
    configs = [dict(zip(names, chosen, strict=True)) for chosen in product(BLOCKS, BLOCKS, WARPS)]
    schedules = tuple(canonical(dict(config)) for config in configs)
    costs = {text: cost(json.loads(text)) for text in schedules}
    columns, rows = encode_parameters(configs)
    data = tabular_set(
        columns, rows, list(costs.values()), [0] * len(rows), [LearningTask("bowl", "matmul")]
    )
    return ReplayedTask("bowl", ListedSpace(schedules, data), ReplayMeasurer(costs))
