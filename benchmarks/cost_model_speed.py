"""Candidates that are described and scored in a second: today's ways and the quick ones, in turns.

A search changes one decision of a good program, thousands of times, and measures what a model
thinks best. Claims, all a processor second: features of a population's decisions, of changes of a
parent, and of the loops that programs make, for at least 4,000 candidates, and at least 10 times as
many as TVM describes the stores of or replays; of a whole space of Triton's configurations at least
10 times as many as of the texts of some. "Scored" is described and scored, on two cores: two
processes with a thread each, so many a processor second each. XGBoost and LightGBM have 600 trees
of 63 leaves.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

# One thread for each of two processes: the libraries would take all cores for each of them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.common import processor_seconds, seconds, show, verdict
from benchmarks.features import convolution
from graph_net.learn.cost_model import CostModel
from graph_net.learn.learning_set import LearningSet, LearningTask
from graph_net.learn.metrics import TaskCosts
from graph_net.learn.trees import LightGbm, XgBoost
from graph_net.programs.features import compiled_code, per_store
from graph_net.programs.spaces.decisions import DecisionChange, DecisionEncoder
from graph_net.programs.spaces.loop_tiles import LoopTileEncoder
from graph_net.programs.spaces.magnitudes import Floats
from graph_net.programs.spaces.metaschedule import MetaScheduleSpace, cores
from graph_net.programs.spaces.metaschedule import workload_of as tvm_workload
from graph_net.programs.spaces.primitives import TraceEncoder
from graph_net.programs.spaces.traces import before_postproc, mutate_trace, parse_trace
from graph_net.programs.triton import H200, TritonSpace, workload_of
from graph_net.programs.triton.layers import conv

LEAST_RATIO, LEAST_RATE = 10, 4000
TRACES, CONFIGS = 512, 4096
"""Programs that are described at once."""
COMPILED = 32
"""Programs that are compiled."""
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
        seeds = range(*wanted.indices(len(self.texts)))
        found = [self.space.mutate(self.parents[n % len(self.parents)], n) for n in seeds]
        return TraceEncoder().encode([text for text in found if text is not None])

    @cached_property
    def _stores(self) -> Callable[[str], bytes]:
        return per_store.extractor(self.space.workload, "")

    @cached_property
    def _code(self) -> Callable[[str], bytes]:
        return compiled_code.extractor(self.space.workload, "")

    def by_code(self, wanted: slice) -> Floats:
        """Describe as many programs by their machine code, which TVM compiles them for."""
        texts = (self.parents[n % len(self.parents)] for n in range(wanted.start, wanted.stop))
        return np.stack([np.frombuffer(self._code(text), np.float32) for text in texts])

    def by_stores(self, wanted: slice) -> Floats:
        """Describe as many programs by their stores, which TVM replays them for."""
        texts = (self.parents[n % len(self.parents)] for n in range(wanted.start, wanted.stop))
        numbers = [np.frombuffer(self._stores(text), np.float32) for text in texts]
        return np.concatenate(numbers)

    def by_tiles(self, wanted: slice) -> Floats:
        """Describe as many whole programs by the loops they make."""
        numbers = range(wanted.start, wanted.stop)
        return LoopTileEncoder(cores()).encode(
            [self.parents[n % len(self.parents)] for n in numbers]
        )

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


def one_by_one(space: TritonSpace, texts: Sequence[str], wanted: slice) -> Floats:
    """Describe configurations by their texts, one after the other."""
    return np.stack([space.encode(text) for text in texts[wanted]])


def together(space: TritonSpace, texts: Sequence[str], wanted: slice) -> Floats:
    """Describe configurations by their texts, all of them together."""
    return np.asarray(space.encode_many(texts[wanted]))


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


@dataclass(frozen=True)
class Way:
    """How so many candidates are described, in batches; scored too, unless there is no model."""

    describe: Describe
    count: int
    batch: int
    is_scored: bool = True

    def batches(self, begin: int, end: int) -> Iterator[Floats]:
        """Yield the features of candidates from one to another."""
        for start in range(begin, end, self.batch):
            yield self.describe(slice(start, min(start + self.batch, end)))

    def describe_all(self) -> None:
        """Describe every candidate."""
        for _ in self.batches(0, self.count):
            pass

    def score(self, model: CostModel, begin: int, end: int) -> None:
        """Score candidates from one to another."""
        for features in self.batches(begin, end):
            model.predict(as_set(features))

    def score_by_two(self, model: CostModel) -> None:
        """Score every candidate, half of them in each of two processes."""
        context = multiprocessing.get_context("fork")
        bounds = np.linspace(0, self.count, PROCESSES + 1).astype(int).tolist()
        halves = [
            context.Process(target=self.score, args=(model, begin, end))
            for begin, end in pairwise(bounds)
        ]
        for half in halves:
            half.start()
        for half in halves:
            half.join()
            assert half.exitcode == 0, "a process that scores has failed"


def rates(
    title: str, ways: Mapping[str, Way], models: Sequence[CostModel], repeats: int
) -> dict[str, float]:
    """Show candidates a second, described on one core and scored on two; return the former."""
    work: dict[str, Callable[[], object]] = {name: way.describe_all for name, way in ways.items()}
    for name, way in ways.items():
        for model in models if way.is_scored else ():
            work[f"{name}/{model.name}"] = partial(way.score_by_two, model)
    took = seconds(work, repeats, processor_seconds)
    found = {name: ways[name.partition("/")[0]].count / time for name, time in took.items()}
    first = found[next(iter(ways))]
    header = ["a processor second", "described", "×", *(f"scored, {m.name}" for m in models)]
    rows = []
    for name in ways:
        scored = [PROCESSES * found.get(f"{name}/{model.name}", np.nan) for model in models]
        shown = [f"{rate:,.0f}" if rate == rate else "" for rate in scored]
        rows.append([name, f"{found[name]:,.0f}", f"{found[name] / first:,.1f}", *shown])
    show(title, header, rows)
    return {name: found[name] for name in ways}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--parents", type=int, default=64)
    options.add_argument("--candidates", type=int, default=4096)
    options.add_argument("--repeats", type=int, default=3)
    given = options.parse_args()
    made = drawn_mutations(given.parents, given.candidates)
    few = min(128, given.candidates)
    ways = {
        "machine code, compiled by TVM": Way(made.by_code, COMPILED, TRACES, is_scored=False),
        "stores, by TVM": Way(made.by_stores, few, TRACES, is_scored=False),
        "replayed by TVM, text": Way(made.through_tvm, few, TRACES),
        "text": Way(made.from_text, given.candidates, TRACES),
        "tiles": Way(made.by_tiles, given.candidates, TRACES, is_scored=False),
        "decisions": Way(made.from_decisions, given.candidates, TRACES),
        "changes of parents": Way(made.from_changes, given.candidates, TRACES),
    }
    models = [learned(kind, made.from_changes(slice(0, TRACES))) for kind in MODELS]
    traces = rates("MetaSchedule, mutations of a convolution", ways, models, given.repeats)
    configs = triton_rates(given.repeats)
    quick = min(traces["tiles"], traces["decisions"], traces["changes of parents"])
    base = max(traces["stores, by TVM"], traces["replayed by TVM, text"])
    whole = configs["columns"] / configs["text"]
    return 0 if all([
        verdict(quick >= LEAST_RATE, f"{quick:,.0f} a processor second ({LEAST_RATE:,})"),
        verdict(quick >= LEAST_RATIO * base, f"{quick / base:,.0f} × TVM's ({LEAST_RATIO})"),
        verdict(whole >= LEAST_RATIO, f"{whole:,.0f} × from text ({LEAST_RATIO})"),
    ]) else 1  # fmt: skip


def triton_rates(repeats: int) -> dict[str, float]:
    """Show the rates of all programs of a convolution in Triton."""
    module = conv(32, 56, 64, 128, 3, "float16", "bias_relu")
    space = TritonSpace(workload_of(module), H200.text)
    total = len(space.all_configs["block_m"])
    texts = [json.dumps(config) for config in _some(space, slice(0, CONFIGS))]
    ways = {
        "text, one by one": Way(partial(one_by_one, space, texts), TRACES, CONFIGS),
        "text": Way(partial(together, space, texts), CONFIGS, CONFIGS),
        "columns": Way(partial(at_once, space), total, CONFIGS),
    }
    models = [learned(kind, at_once(space, slice(0, total, total // TRACES))) for kind in MODELS]
    return rates(f"Triton, a space of {total:,}", ways, models, repeats)


if __name__ == "__main__":
    sys.exit(main())
