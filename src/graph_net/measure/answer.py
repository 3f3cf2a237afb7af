"""What a worker does when its parent asks it to show that its figures hold.

The parent sends a seed when the record is written. The worker draws inputs from it, runs batches of
eager and of the candidate on them, says when each begins and ends, and hands over the outputs. The
parent reads its own clock; ``audit.py`` judges.
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
from graph_net.graph.outputs import flat_outputs
from graph_net.measure.arms import Arms, changed_inputs
from graph_net.measure.audit import PAIRS
from graph_net.measure.changing import ChangingInputs, fitting
from graph_net.measure.protocol import Protocol
from graph_net.measure.safetensors import bytes_of
from graph_net.measure.task import Answer, Say
from graph_net.record import Samples, Timing

SHORTEST, LONGEST, PART = 0.01, 0.05, 0.01
"""A batch lasts this part of the protocol's seconds, within these bounds."""
MOST_SETS = 32
"""So many inputs at most differ, and so many outputs are handed over."""
MOST_BYTES, MOST_DRAWN, SLOWEST = 16 << 20, 64 << 20, 0.25
"""Bytes of outputs and of inputs and seconds of eager up to which outputs are handed over."""


@dataclass(frozen=True)
class Batches:
    """How many calls a batch of each arm has, and on how many different inputs."""

    eager: int
    candidate: int
    sets: int


def batches_of(graph: Graph, places: Sequence[int], timing: Timing, protocol: Protocol) -> Batches:
    """What both sides find by themselves, from the record."""
    if changed_inputs(graph):  # each call needs its inputs restored
        return Batches(1, 1, 1)
    lasts = min(max(PART * protocol.seconds, SHORTEST), LONGEST)
    eager, candidate = (_calls(arm, lasts) for arm in (timing.eager, timing.candidate))
    sets = fitting(graph, places, min(candidate, MOST_SETS))
    return Batches(eager, -(-candidate // sets) * sets, sets)


def is_cheap(graph: Graph, device: str, timing: Timing) -> bool:
    """Whether another process may as well draw the inputs and run eager."""
    return (
        device == "cpu"
        and graph.level is not Level.PADDLE
        and graph.tensor_bytes <= MOST_DRAWN
        and median(timing.eager.wall) <= SLOWEST
        and not any(draws_random(node) for node in graph.nodes)
    )


def handed_over(outputs: Sequence[Any], sets: int) -> int:
    """How many calls' outputs, of the form of these, are handed over: the last ones."""
    size = sum(
        leaf.numel() * leaf.element_size() for leaf in outputs if isinstance(leaf, torch.Tensor)
    )
    return min(sets, MOST_BYTES // max(1, size))


def _calls(arm: Samples, seconds: float) -> int:
    return max(1, min(round(seconds / median(arm.wall)), 1 << 14))


def answer_with(arms: Arms, timing: Timing, protocol: Protocol, outputs: Sequence[Any]) -> Answer:
    """The answer of a worker that timed these arms; ``outputs`` are as eager's."""
    graph = arms.job.graph
    batches = batches_of(graph, arms.places, timing, protocol)
    held = 0
    if is_cheap(graph, arms.job.device, timing):
        held = handed_over(outputs, batches.sets)

    def answer(seed: int, say: Say) -> bytes:
        inputs = ChangingInputs(graph, arms.job.inputs, arms.places, seed, batches.sets)
        random = Random(seed)  # noqa: S311 - the seed is the secret
        restore = arms.restorer()
        results: deque[Any] = deque()
        for _ in range(PAIRS):
            places = inputs.renew(random, batches.sets)
            for name, run, calls in (
                ("eager", arms.eager, batches.eager),
                ("candidate", arms.candidate, batches.candidate),
            ):
                inputs.fill(places, batches.sets)
                restore()
                results = deque(maxlen=held)
                with arms.host.calling():
                    _run(run, inputs, calls, results, say, name, arms.job.device)
        restore()
        return packed(results)

    return answer


def _run(
    run: Runner,
    inputs: ChangingInputs,
    calls: int,
    results: deque[Any],
    say: Say,
    name: str,
    device: str,
) -> None:
    """One batch, the parent told before and after."""
    wait = torch.cuda.synchronize if device.startswith("cuda") else _no_wait
    wait()
    say(f"{name} begins")
    for _ in range(calls):
        results.append(run(next(inputs.turn)))
    wait()
    say(f"{name} ends")


def _no_wait() -> None:
    """A CPU has computed when a call returns."""


def packed(results: Sequence[Any]) -> bytes:
    """The tensors of some outputs, their bytes one after another."""
    leaves = (leaf for outputs in results for leaf in flat_outputs(outputs))
    return b"".join(raw_bytes(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor))


def raw_bytes(leaf: torch.Tensor) -> bytes:
    """The bytes of a tensor's elements in order."""
    plain = leaf.detach().cpu().resolve_conj().resolve_neg()
    return bytes(bytes_of(torch.view_as_real(plain) if plain.is_complex() else plain))
