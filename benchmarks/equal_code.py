"""How far the times of programs with equal machine code are apart: noise that no model can learn.

    python -m benchmarks.equal_code

Different schedules of a task may compile to the same code. Such programs were measured at distant
moments, and should take the same time; pairs are drawn so that a program is in one at most.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.common import verdict
from graph_net.learn.learning_set import LearningSet
from graph_net.learn.metrics import Floats
from graph_net.learn.read_set import read_set

MOST = 0.05


def apart(data: LearningSet, seed: int = 0) -> Floats:
    """Return the relative difference of the costs of each pair of programs of a task and a code."""
    code = [place for place, name in enumerate(data.columns) if name.startswith("code_")]
    groups: defaultdict[tuple[int, bytes], list[float]] = defaultdict(list)
    for number in np.flatnonzero(np.isfinite(data.programs.costs)):
        key = int(data.programs.tasks[number]), data.rows[number, code].tobytes()
        groups[key].append(float(data.programs.costs[number]))
    generator = np.random.default_rng(seed)
    pairs = []
    for costs in groups.values():
        drawn = generator.permutation(costs)
        pairs += list(zip(drawn[::2], drawn[1::2], strict=False))
    one, other = np.array(pairs).reshape(-1, 2).T
    return np.asarray(np.exp(np.abs(np.log(one / other))) - 1)


def main() -> int:
    """Print the quantiles, and whether the median is at most MOST."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("data", type=Path, nargs="?", default=Path("dataset/programs/cpu"))
    given = parser.parse_args()
    found = apart(read_set(given.data, "tiles+code").data)
    middle, most = np.median(found), np.quantile(found, 0.9)
    print(f"{found.size} pairs of equal code: {middle:.1%} apart in the median, {most:.1%} at 90 %")
    return 0 if verdict(bool(middle <= MOST), f"at most {MOST:.0%} in the median") else 1


if __name__ == "__main__":
    raise SystemExit(main())
