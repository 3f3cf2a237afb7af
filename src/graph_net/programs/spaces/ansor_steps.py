"""Ansor's transformation steps as a sequence of primitives, in TLP's shape.

A step is a list: its kind, then numbers, texts and lists of numbers. A row is the kind as one of
fifteen columns, and the first seven values. TLP truncates at 25 rows for CPUs and at 40 for GPUs,
whose schedules are longer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from graph_net.programs.spaces.magnitudes import Floats, bucket, leaves, log_magnitude, number
from graph_net.programs.spaces.space import SpaceError

KINDS = "AN FU PR RE SP FSP FFSP SA CA CI CR CHR CHW RF".split()
NUMBERS = 7
"""Values per step; enough for a split into four: stage, iterator, extent, four lengths."""
WIDTH = len(KINDS) + 1 + NUMBERS
CPU_LENGTH, GPU_LENGTH = 25, 40
VERSION = 1

_COLUMN = {name: column for column, name in enumerate(KINDS)}
_START = len(KINDS) + 1
_WORDS = 255
_DIGITS = 20


def encode_steps(schedules: Sequence[str], length: int = GPU_LENGTH) -> Floats:
    """Return features of each schedule, ``length`` × 22; SpaceError if one is not a schedule."""
    features = np.zeros((len(schedules), length, WIDTH), np.float32)
    flat = features.reshape(-1)
    kinds: list[int] = []
    positions: list[int] = []
    values: list[float] = []
    for index, schedule in enumerate(schedules):
        start = index * length * WIDTH
        for at, step in enumerate(steps_of(schedule)[:length]):
            row = start + at * WIDTH
            kinds.append(row + _COLUMN.get(step[0], len(KINDS)))
            numbers = list(islice(_values(step[1:]), NUMBERS))
            positions += range(row + _START, row + _START + len(numbers))
            values += numbers
    flat[kinds] = 1
    flat[positions] = log_magnitude(values)
    return features


def _values(parts: Sequence[Any]) -> Iterator[float]:
    """Yield the numbers of a step; a text gives its bucket and the number it ends in (``$64``)."""
    for value in leaves(parts):
        if not isinstance(value, str):
            yield number(value)
            continue
        word, _, tail = value.partition("$")
        yield 1.0 + bucket(word, _WORDS)
        if tail.isascii() and tail.isdigit() and len(tail) < _DIGITS:
            yield number(int(tail))


def steps_of(schedule: str) -> list[list[Any]]:
    """Return the steps of a schedule, from its JSON."""
    try:
        steps = json.loads(schedule)
        if not isinstance(steps, list):
            raise ValueError("no list")
        for index, step in enumerate(steps):
            if not isinstance(step, list) or not step or not isinstance(step[0], str):
                raise ValueError(f"step {index} has no kind")
    except (ValueError, RecursionError) as error:
        raise SpaceError(f"not a list of Ansor's steps: {error}") from error
    return steps
