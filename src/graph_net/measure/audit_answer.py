"""A worker's answer when its parent audits its record.

The parent sends a seed when the record is written. The worker draws inputs from it, runs batches of
eager and of the candidate on them, says when each begins and ends, and hands over the outputs. The
parent reads its own clock; ``audit_judge.py`` judges.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Any

import torch

from graph_net.compilers import Runner
from graph_net.graph import Graph, Level
from graph_net.graph.effects import draws_random
from graph_net.measure.arms import Arms, changed_inputs
from graph_net.measure.changing_inputs import ChangingInputs, count_sets
from graph_net.measure.plain_outputs import leaf_bytes, plain_outputs
from graph_net.measure.protocol import Protocol
from graph_net.measure.safetensors import bytes_of
from graph_net.measure.task import Answer, Say
from graph_net.results import Timing

BATCH = 0.002
"""Seconds of a batch (one call at least): short, so that some batches are undisturbed."""
LEAST_PAIRS, MOST_PAIRS, PART = 3, 10, 0.01
"""Batches per arm: least, most, and the share of the protocol's seconds they may take."""
MOST_CALLS = 1 << 12
MOST_SETS = 32
"""The most sets of different inputs, and of outputs handed over."""
MOST_BYTES, MOST_DRAWN, SLOWEST = 16 << 20, 64 << 20, 0.25
"""Limits for handing over outputs: their bytes, the inputs' bytes, and eager's seconds."""


@dataclass(frozen=True)
class Batches:
    """Calls per batch of each arm, different inputs, and batches per arm."""

    eager: int
    candidate: int
    sets: int
    pairs: int


def batches_of(
    graph: Graph, changing: Sequence[int], timing: Timing, protocol: Protocol
) -> Batches:
    """Return the batches that follow from a record, for the worker and its parent alike."""
    medians = [median(arm.wall) for arm in (timing.eager, timing.candidate)]
    eager, candidate = (max(1, min(round(BATCH / seconds), MOST_CALLS)) for seconds in medians)
    sets = count_sets(graph, changing, min(candidate, MOST_SETS))
    if changed_inputs(graph):  # each call needs its inputs restored
        eager = candidate = sets = 1
    candidate = -(-candidate // sets) * sets
    seconds = eager * medians[0] + candidate * medians[1]
    pairs = round(max(PART * protocol.seconds, MOST_PAIRS * BATCH) / seconds)
    return Batches(eager, candidate, sets, max(LEAST_PAIRS, min(pairs, MOST_PAIRS)))


def is_cheap(graph: Graph, device: str, timing: Timing) -> bool:
    """Return whether another process can afford to draw the inputs and run eager."""
    return (
        device == "cpu"
        and graph.level is not Level.PADDLE
        and graph.tensor_bytes <= MOST_DRAWN
        and median(timing.eager.wall) <= SLOWEST
        and not any(draws_random(node) for node in graph.nodes)
    )


def count_handed_over(outputs: Sequence[Any], sets: int) -> int:
    """Return for how many of the last calls the outputs, if of this form, are handed over."""
    return min(sets, MOST_BYTES // max(1, sum(map(leaf_bytes, outputs))))


def make_answer(arms: Arms, timing: Timing, protocol: Protocol, outputs: Sequence[Any]) -> Answer:
    """Return the answer of a worker that timed these arms; ``outputs`` are eager's."""
    graph = arms.job.graph
    batches = batches_of(graph, arms.changing, timing, protocol)
    held = 0
    if is_cheap(graph, arms.job.device, timing):
        held = count_handed_over(outputs, batches.sets)

    def answer(seed: int, say: Say) -> bytes:
        inputs = ChangingInputs(graph, arms.job.inputs, arms.changing, seed, batches.sets)
        random = Random(seed)  # noqa: S311 - the seed is the secret
        restore = arms.make_restore()
        results: deque[Any] = deque()
        for _ in range(batches.pairs):
            windows = inputs.renew(random, batches.sets)
            for name, run, calls in (
                ("eager", arms.eager, batches.eager),
                ("candidate", arms.candidate, batches.candidate),
            ):
                inputs.fill(windows, batches.sets)
                restore()
                results = deque(maxlen=held)
                with arms.host.inference_mode():
                    _run_batch(run, inputs, calls, results, say, name, arms.job.device)
        restore()
        return pack(results)

    return answer


def _run_batch(
    run: Runner,
    inputs: ChangingInputs,
    calls: int,
    results: deque[Any],
    say: Say,
    name: str,
    device: str,
) -> None:
    """Run one batch, telling the parent before and after."""

    def wait() -> None:
        if device.startswith("cuda"):  # a CPU has computed when a call returns
            torch.cuda.synchronize()

    wait()
    say(f"{name} begins")
    for _ in range(calls):
        results.append(run(next(inputs.turn)))
    wait()
    say(f"{name} ends")


def pack(results: Sequence[Any]) -> bytes:
    """Return the bytes of all tensors of some outputs, one after another."""
    leaves = (leaf for outputs in results for leaf in plain_outputs(outputs))
    return b"".join(raw_bytes(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor))


def raw_bytes(leaf: torch.Tensor) -> bytes:
    """Return the bytes of a tensor's elements in order."""
    plain = leaf.detach().cpu().resolve_conj().resolve_neg()
    return bytes(bytes_of(torch.view_as_real(plain) if plain.is_complex() else plain))
