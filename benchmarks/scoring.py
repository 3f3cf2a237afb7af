"""Scoring a million records. Claims: about a second on one core, and faster than plain pandas.

The columns of ten compilers on a hundred thousand graphs are in memory, as Arrow reads them. Both
sides take each graph once, leave out what is excluded, and give ES(t) by compiler on the
whole ladder; ours also finds the families and draws the intervals, which pandas is spared.
"""

from __future__ import annotations

import argparse
import os
import sys

# One core: numpy's library would take them all.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.common import seconds, show, verdict
from graph_net.score import LADDER, Parameters, estimate, score
from graph_net.score.records import COLUMNS, samples_of_table

COMPILERS = 10
MODELS = 2000
MOST_SECONDS = 1.5
LEAST_RATIO = 1.5
FAILURES = (
    ("compile", "exception"),
    ("first_run", "crash"),
    ("verify", "numeric_mismatch"),
    ("load", "infrastructure"),
)


def records(count: int, seed: int = 0) -> pa.Table:
    """The columns of so many records, as a store would give them."""
    random = np.random.default_rng(seed)
    graphs = count // COMPILERS
    count = graphs * COMPILERS
    graph = np.tile(np.arange(graphs), COMPILERS)
    compiler = np.repeat(np.arange(COMPILERS), graphs)
    failure = random.choice(len(FAILURES) + 1, count, p=[0.85, 0.05, 0.03, 0.05, 0.02]) - 1
    failed = failure >= 0
    stages, symptoms = ([pair[place] for pair in FAILURES] + [None] for place in (0, 1))
    words = np.array([f"{'ab' * 15}{number:x}" for number in range(graphs)], dtype=object)
    models = np.array([f"net{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{n}" for n in range(MODELS)])
    speedup = np.exp(random.normal(0.2, 0.4, count))
    made = {
        "graph_id": words[graph],
        "graph": words[graph],
        "library": np.array(["timm", "transformers"])[graph % 2],
        "model": models[graph % MODELS],
        "category": np.array(["vision", "nlp"])[graph % 2],
        "compiler": np.array([f"compiler{n}" for n in range(COMPILERS)])[compiler],
        "version": np.full(count, "1.0"),
        "options": np.full(count, "{}"),
        "config": np.array([f"{n:032x}" for n in range(COMPILERS)])[compiler],
        "device": np.full(count, "0" * 32),
        "device_name": np.full(count, "a processor"),
        "protocol": np.full(count, "1" * 32),
        "stage": np.array(stages, dtype=object)[failure],
        "symptom": np.array(symptoms, dtype=object)[failure],
        "t": np.where(failed, np.nan, random.uniform(-9, 0, count)),
        "speedup": np.where(failed, np.nan, speedup),
        "speedup_low": np.where(failed, np.nan, speedup * 0.99),
        "speedup_high": np.where(failed, np.nan, speedup * 1.01),
        "noise": np.where(failed, np.nan, 1.0),
        "noise_low": np.where(failed, np.nan, 0.99),
        "noise_high": np.where(failed, np.nan, 1.01),
        "compiled_graphs": np.full(count, 1),
        "graph_breaks": np.full(count, 0),
    }
    return pa.table({name: pa.array(made[name], from_pandas=True) for name in COLUMNS})


def with_pandas(frame: pd.DataFrame, p: float = 0.0, b: float = 0.1) -> dict[str, list[float]]:
    """ES(t) by compiler, as one writes it with pandas."""
    frame = frame.drop_duplicates(["graph_id", "config", "device"], keep="last")
    frame = frame[frame["symptom"] != "infrastructure"]
    fault = frame["stage"].map({"compile": 3.0, "first_run": 3.0, "verify": 1.0}).fillna(1.0)
    logs = frame["speedup"].map(np.log)
    logs = logs.where(logs >= 0, logs * (1 + p))
    found = []
    for t in LADDER:
        correct = frame["t"] <= min(t, 1.0) + 1e-4
        lost = (t < fault).map({True: np.log(b), False: 0.0}) if t >= 1 else np.log(b)
        found.append(np.exp(logs.where(correct, lost).groupby(frame["compiler"]).mean()))
    table = pd.concat(found, axis=1)
    return {str(name): list(row) for name, row in zip(table.index, table.to_numpy(), strict=True)}


def ours(table: pa.Table) -> dict[str, list[float]]:
    return {n: list(score(s).es[0]) for n, s in samples_of_table(table).items()}


def with_intervals(table: pa.Table) -> None:
    for samples in samples_of_table(table).values():
        estimate(samples, Parameters())


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--records", type=int, default=1_000_000)
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    table = records(given.records)
    frame = table.to_pandas()
    mine, theirs = ours(table), with_pandas(frame)
    assert all(np.allclose(mine[name], theirs[name]) for name in theirs), "they disagree"
    took = seconds(
        {
            "pandas, scores": lambda: with_pandas(frame),
            "ours, scores": lambda: ours(table),
            "ours, scores and intervals": lambda: with_intervals(table),
        },
        given.repeats,
    )
    base = took["pandas, scores"]
    rows = [[name, f"{time:.2f}", f"{base / time:.1f}"] for name, time in took.items()]
    show(f"{table.num_rows:,} records, one core", ("", "seconds", "× as fast as pandas"), rows)
    ratio, longest = base / took["ours, scores"], took["ours, scores and intervals"]
    return 0 if all([
        verdict(longest <= MOST_SECONDS, f"scores and intervals in {longest:.2f} s"),
        verdict(ratio >= LEAST_RATIO, f"scores {ratio:.1f} times as fast as pandas"),
    ]) else 1  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
