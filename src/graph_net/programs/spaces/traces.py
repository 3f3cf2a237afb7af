"""MetaSchedule's traces as data: ``[instructions, decisions]``, read and changed without TVM.

An instruction is ``[name, inputs, attributes, outputs]``, a decision ``[index, drawn value]``.
Everything after ``EnterPostproc`` is computed from what precedes it.
"""

from __future__ import annotations

import json
import random
from functools import cache
from math import prod
from typing import Any

from graph_net.programs.spaces.space import SpaceError

TILE, CHOICE, LOCATION = "SamplePerfectTile", "SampleCategorical", "SampleComputeLocation"
POSTPROC = "EnterPostproc"
LOCATIONS = 12
"""Estimated compute locations of a block: inlined, at the root, or at one of about ten loops."""

Trace = list[Any]


def parse_trace(schedule: str) -> Trace:
    """Parse a trace from its JSON; raise SpaceError if it is not a trace."""
    try:
        instructions, decisions = json.loads(schedule)
        for name, inputs, attributes, outputs in instructions:
            if not isinstance(name, str) or not all(
                isinstance(part, list) for part in (inputs, attributes, outputs)
            ):
                raise ValueError(f"instruction {name!r}")
        indices = [index for index, _ in decisions]
        if not all(isinstance(index, int) and 0 <= index < len(instructions) for index in indices):
            raise ValueError("a decision of no instruction")
    except (ValueError, TypeError, RecursionError) as error:
        raise SpaceError(f"not a trace of MetaSchedule: {error}") from error
    return [instructions, decisions]


def before_postproc(trace: Trace) -> Trace:
    """Return the trace without its postprocessing, which is computed from the rest."""
    instructions, decisions = trace
    names = [instruction[0] for instruction in instructions]
    end = names.index(POSTPROC) if POSTPROC in names else len(names)
    return [instructions[:end], [entry for entry in decisions if entry[0] < end]]


def programs_of(trace: Trace) -> float:
    """Return how many traces differ from this one only in their decisions."""
    instructions, decisions = before_postproc(trace)
    return float(prod(_choices(instructions[index], drawn) for index, drawn in decisions))


def _choices(instruction: list[Any], drawn: Any) -> int:
    name, _, attributes, _ = instruction
    if name == TILE:
        return _tilings(prod(drawn), len(drawn), int(attributes[1]))
    return len(attributes[0]) if name == CHOICE else LOCATIONS


@cache
def _tilings(extent: int, parts: int, innermost: int) -> int:
    """Count the ways to write an extent as a product of factors, the last one bounded."""
    if parts == 1:
        return int(extent <= innermost)
    divisors = [d for d in range(1, min(extent, innermost) + 1) if extent % d == 0]
    return sum(_factorings(extent // d, parts - 1) for d in divisors)


@cache
def _factorings(extent: int, parts: int) -> int:
    if parts == 1:
        return 1
    ways, divisor = 0, 1
    while divisor * divisor <= extent:
        if extent % divisor == 0:
            ways += _factorings(extent // divisor, parts - 1)
            if divisor * divisor != extent:
                ways += _factorings(divisor, parts - 1)
        divisor += 1
    return ways


def mutate_trace(trace: Trace, draw: random.Random) -> Trace | None:
    """Return a trace with one decision changed and no postprocessing; None if none can change."""
    instructions, decisions = before_postproc(trace)
    numbers = list(range(len(decisions)))
    draw.shuffle(numbers)
    for number in numbers:
        index, drawn = decisions[number]
        other = _other(instructions[index], drawn, draw)
        if other is not None:
            changed = [list(entry) for entry in decisions]
            changed[number] = [index, other]
            return [instructions, changed]
    return None


def _other(instruction: list[Any], drawn: Any, draw: random.Random) -> Any:
    name, _, attributes, _ = instruction
    if name == TILE:
        return _moved(drawn, int(attributes[1]), draw)
    if name == CHOICE:
        others = [choice for choice in range(len(attributes[0])) if choice != drawn]
        return draw.choice(others) if others else None
    if name == LOCATION:
        return draw.choice([at for at in range(-2, LOCATIONS - 2) if at != drawn])
    return None


def _moved(factors: list[int], innermost: int, draw: random.Random) -> list[int] | None:
    """Move a prime factor from one level of the tiling to another; None if none can move."""
    moves = []
    for source, factor in enumerate(factors):
        for prime in _primes(factor):
            for sink in range(len(factors)):
                fits = sink < len(factors) - 1 or factors[-1] * prime <= innermost
                if sink != source and fits:
                    moves.append((source, sink, prime))
    if not moves:
        return None
    source, sink, prime = draw.choice(moves)
    moved = list(factors)
    moved[source] //= prime
    moved[sink] *= prime
    return moved


@cache
def _primes(number: int) -> tuple[int, ...]:
    primes, divisor = [], 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            primes.append(divisor)
            while number % divisor == 0:
                number //= divisor
        divisor += 1
    return (*primes, number) if number > 1 else tuple(primes)
