"""Candidates that are described and scored in a second: today's ways and the quick ones, in turns.

A search changes one decision of a good program, thousands of times, and measures what a model
thinks best. Claims: features of a population's decisions, and of changes of a parent, at least 10
times as many a second as candidates that TVM has to replay before their text is read; features of
a whole space of Triton's configurations at least 10 times as many as one by one. Programs are
scored by two processes with a thread each; XGBoost and LightGBM have 600 trees of 63 leaves.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

# One thread for each of two processes: the libraries would take all cores for each of them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.common import seconds, show, verdict
from benchmarks.features import convolution
from graph_net.learn.cost_model import CostModel
from graph_net.learn.learning_set import LearningSet, LearningTask
from graph_net.learn.metrics import TaskCosts
from graph_net.learn.trees import LightGbm, XgBoost
from graph_net.programs.spaces.decisions import DecisionChange, DecisionEncoder
from graph_net.programs.spaces.magnitudes import Floats
from graph_net.programs.spaces.metaschedule import MetaScheduleSpace
from graph_net.programs.spaces.metaschedule import workload_of as tvm_workload
from graph_net.programs.spaces.primitives import TraceEncoder
from graph_net.programs.spaces.traces import before_postproc, mutate_trace, parse_trace
from graph_net.programs.triton import H200, TritonSpace, workload_of
from graph_net.programs.triton.layers import conv

LEAST_RATIO = 10
BATCH = 512
PROCESSES = 2
MODELS: tuple[type[CostModel], ...] = (XgBoost, LightGbm)
Describe = Callable[[slice], Floats]


@dataclass(frozen=True)
class Mutations:
    """Programs one decision away from parents of one sketch, in every form that is encoded."""

    space: MetaScheduleSpace
    encoder: DecisionEncoder
    parents: list[str]
    parent_features: Floats
    texts: list[str]
    population: list[dict[int, Any]]
    changes: list[DecisionChange]

    def through_tvm(self, wanted: slice) -> Floats:
        """Describe as many candidates by TVM's own replay, then by their text."""
        count = len(range(*wanted.indices(len(self.texts))))
        encoder = TraceEncoder()
        found = [
            text
            for seed in range(count)
            if (text := self.space.mutate(self.parents[seed % len(self.parents)], seed))
        ]
        return encoder.encode(found)

    def from_text(self, wanted: slice) -> Floats:
        """Describe candidates by the text of their traces."""
        return TraceEncoder().encode(self.texts[wanted])

    def from_decisions(self, wanted: slice) -> Floats:
        """Describe candidates by what was drawn."""
        return self.encoder.encode_many(self.population[wanted])

    def from_changes(self, wanted: slice) -> Floats:
        """Describe candidates by what was drawn otherwise than in their parents."""
        return self.encoder.encode_changes(self.parent_features, self.changes[wanted])


def drawn_mutations(parents: int, count: int) -> Mutations:
    """Return mutations of random programs of a convolution, all of its commonest sketch."""
    from tvm import IRModule

    workload = tvm_workload(IRModule({"main": convolution()}), "convolution")
    space = MetaScheduleSpace(workload)
    chosen = _of_one_sketch(list(space.sample(parents, 1)))
    encoder, _ = DecisionEncoder.of(chosen[0])
    chance = random.Random(0)  # noqa: S311
    texts, population, changes = [], [], []
    for number in range(count):
        parent = number % len(chosen)
        trace = parse_trace(chosen[parent])
        mutated = mutate_trace(trace, chance)
        assert mutated is not None
        before = dict(map(tuple, trace[1]))
        ((index, other),) = [(n, what) for n, what in mutated[1] if before[n] != what]
        texts.append(json.dumps(mutated))
        population.append({**before, index: other})
        changes.append(DecisionChange(parent, index, other))
    features = TraceEncoder().encode(chosen)
    return Mutations(space, encoder, chosen, features, texts, population, changes)


def _of_one_sketch(texts: Sequence[str]) -> list[str]:
    sketches = [json.dumps(before_postproc(parse_trace(text))[0]) for text in texts]
    common = Counter(sketches).most_common(1)[0][0]
    return [text for text, sketch in zip(texts, sketches, strict=True) if sketch == common]


def one_by_one(space: TritonSpace, wanted: slice) -> Floats:
    """Describe configurations one after the other."""
    schedules = [json.dumps(config) for config in _some(space, wanted)]
    return np.stack([space.encode(schedule) for schedule in schedules])


def _some(space: TritonSpace, wanted: slice) -> list[dict[str, int]]:
    columns = [values[wanted].tolist() for values in space.all_configs.values()]
    return [
        dict(zip(space.all_configs, chosen, strict=True)) for chosen in zip(*columns, strict=True)
    ]


def at_once(space: TritonSpace, wanted: slice) -> Floats:
    """Describe configurations by the columns of their parameters."""
    return space.encode_configs({name: all_[wanted] for name, all_ in space.all_configs.items()})


def as_set(features: Floats) -> LearningSet:
    """Return programs without a known cost, to be scored."""
    count, width = len(features), features.shape[-1]
    each = features.size // (count * width)
    costs = np.random.default_rng(0).uniform(1, 2, count)
    return LearningSet(
        tuple(f"f{number}" for number in range(width)),
        features.reshape(-1, width),
        np.arange(count + 1) * each,
        TaskCosts.of(costs, np.zeros(count, np.int64)),
        (LearningTask("candidates"),),
    )


def learned(kind: type[CostModel], features: Floats) -> CostModel:
    """Return a model of so many random costs: trees of full size, which say nothing."""
    model = kind({"threads": 1, "least_in_leaf": 1})
    model.fit(as_set(features))
    return model


def score(model: CostModel, describe: Describe, begin: int, end: int) -> None:
    """Describe and score the candidates from one to another, in batches."""
    for start in range(begin, end, BATCH):
        model.predict(as_set(describe(slice(start, min(start + BATCH, end)))))


def score_by_two(model: CostModel, describe: Describe, count: int) -> None:
    """Score so many candidates by two processes, each a half of them."""
    context = multiprocessing.get_context("fork")
    bounds = np.linspace(0, count, PROCESSES + 1).astype(int).tolist()
    halves = [
        context.Process(target=score, args=(model, describe, begin, end))
        for begin, end in pairwise(bounds)
    ]
    for half in halves:
        half.start()
    for half in halves:
        half.join()
        assert half.exitcode == 0, "a process that scores has failed"


def rates(
    title: str, ways: dict[str, tuple[Describe, int]], models: Sequence[CostModel], repeats: int
) -> dict[str, float]:
    """Show candidates a second, described on one core and scored on two; return the former."""
    work: dict[str, Callable[[], object]] = {}
    for way, (describe, count) in ways.items():
        work[way] = partial(_in_batches, describe, count)
        for model in models:
            work[f"{way}/{model.name}"] = partial(score_by_two, model, describe, count)
    took = seconds(work, repeats)
    found = {name: ways[name.partition("/")[0]][1] / time for name, time in took.items()}
    first = next(iter(ways))
    header = ["", "described/s, a core", "×", *(f"scored/s, {model.name}" for model in models)]
    rows = [
        [way, f"{found[way]:,.0f}", f"{found[way] / found[first]:,.1f}"]
        + [f"{found[f'{way}/{model.name}']:,.0f}" for model in models]
        for way in ways
    ]
    show(title, header, rows)
    return {way: found[way] for way in ways}


def _in_batches(describe: Describe, count: int) -> None:
    for start in range(0, count, BATCH):
        describe(slice(start, min(start + BATCH, count)))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--parents", type=int, default=64)
    options.add_argument("--candidates", type=int, default=4096)
    options.add_argument("--repeats", type=int, default=3)
    given = options.parse_args()
    made = drawn_mutations(given.parents, given.candidates)
    few = min(128, given.candidates)
    ways = {
        "replayed by TVM, from text": (made.through_tvm, few),
        "from text": (made.from_text, given.candidates),
        "from decisions": (made.from_decisions, given.candidates),
        "changes of a parent": (made.from_changes, given.candidates),
    }
    models = [learned(kind, made.from_changes(slice(0, BATCH))) for kind in MODELS]
    traces = rates("MetaSchedule, a convolution's mutations", ways, models, given.repeats)

    module = conv(32, 56, 64, 128, 3, "float16", "bias_relu")
    space = TritonSpace(workload_of(module), H200.text)
    total = len(space.all_configs["block_m"])
    ways = {
        "one by one": (partial(one_by_one, space), few * 4),
        "columns": (partial(at_once, space), total),
    }
    models = [learned(kind, at_once(space, slice(0, total, total // BATCH))) for kind in MODELS]
    configs = rates(f"Triton, a space of {total:,}", ways, models, given.repeats)
    base = traces["replayed by TVM, from text"]
    quick = min(traces["from decisions"], traces["changes of a parent"])
    whole = configs["columns"] / configs["one by one"]
    return 0 if all([
        verdict(quick >= LEAST_RATIO * base, f"{quick / base:,.0f} × replayed ({LEAST_RATIO})"),
        verdict(whole >= LEAST_RATIO, f"{whole:,.0f} × one by one ({LEAST_RATIO})"),
    ]) else 1  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
