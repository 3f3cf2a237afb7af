"""A schedule as a sequence of its primitives (TLP): numbers from the trace, nothing compiled.

A row is a primitive: its kind, its names (threads, scopes, annotations), the origin of its loops
and blocks, and its numbers, with variables replaced by the drawn values. Instructions that only
fetch a block or a loop, or draw a number, get no row. What follows ``EnterPostproc`` is omitted
because it is computed from the rest: a program has the same features whether its trace was stored
before or after postprocessing.

Programs of a task differ mainly in their decisions. The rows of a trace without decisions are
therefore built once and cached, and a trace is a copy of them with a few numbers filled in.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from graph_net.programs.spaces.magnitudes import Floats, bucket, leaves, log_magnitude, number
from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.spaces.traces import POSTPROC

KINDS = (
    "Split Fuse Reorder AddUnitLoop Parallel Vectorize Bind Unroll CacheRead CacheWrite "
    "ReindexCacheRead ReindexCacheWrite Reindex ComputeAt ReverseComputeAt ComputeInline "
    "ReverseComputeInline DecomposeReduction RFactor StorageAlign SetScope Blockize Tensorize "
    "Annotate Unannotate TransformLayout TransformBlockLayout PadEinsum"
).split()
"""Primitives with a column of their own; the others share those of ``OTHER_KINDS``."""
OTHER_KINDS = 2
WORDS = (
    "blockIdx.x blockIdx.y threadIdx.x threadIdx.y vthread.x local shared global "
    "meta_schedule.parallel meta_schedule.vectorize meta_schedule.unroll_explicit "
    "meta_schedule.unroll_implicit meta_schedule.cooperative_fetch meta_schedule.tiling_structure "
    "meta_schedule.thread_extent_low_inclusive meta_schedule.thread_extent_high_inclusive "
    "meta_schedule.auto_tensorize meta_schedule.random_compute_producer"
).split()
OTHER_WORDS = 4
REFERENCES = 2
"""Loops or blocks per row whose origin is encoded."""
NUMBERS = 7
LENGTH = 64
"""Rows per schedule; the longest of 20,089 real GPU traces has 62."""
_WORD = len(KINDS) + OTHER_KINDS
_COUNT = _WORD + len(WORDS) + OTHER_WORDS
_REFERENCE = _COUNT + 1
_NUMBER = _REFERENCE + 2 * REFERENCES
WIDTH = _NUMBER + NUMBERS
SHAPE = (LENGTH, WIDTH)
VERSION = 1
"""Version of the columns' meaning; do not mix features of two versions."""
TEMPLATES = 1024
"""Most templates cached; all are dropped when there are more."""

_KIND_COLUMN = {name: column for column, name in enumerate(KINDS)}
_WORD_COLUMN = {name: column for column, name in enumerate(WORDS, _WORD)}


@dataclass(frozen=True)
class _Drawn:
    """A variable as part of a decision: the instruction, and which of its results."""

    instruction: int
    item: int


Hole = tuple[int, list[Any] | None, list[tuple[int, int]]]
"""For an instruction: its choices, and pairs of (item of the decision, position)."""


@dataclass(frozen=True)
class Template:
    """The rows of a trace without its decisions, and where the decisions go."""

    base: Floats
    rows: int
    """Number of rows before truncation."""
    holes: list[Hole]


class TraceEncoder:
    """Encodes MetaSchedule traces as arrays of ``SHAPE``; fast for similar traces."""

    def __init__(self) -> None:
        self._known: dict[bytes, Template] = {}

    def encode(self, schedules: Sequence[str]) -> Floats:
        """Return features of each schedule; SpaceError if one is not a trace."""
        features = np.empty((len(schedules), LENGTH * WIDTH), np.float32)
        positions: list[int] = []
        values: list[float] = []
        for row, schedule in enumerate(schedules):
            template, drawn = self.read(schedule)
            features[row] = template.base
            fill_in(template.holes, drawn, row * LENGTH * WIDTH, positions, values)
        features.reshape(-1)[positions] = log_magnitude(values)
        return features.reshape(-1, *SHAPE)

    def rows(self, schedule: str) -> int:
        """Return how many rows a schedule has before truncation."""
        return self.read(schedule)[0].rows

    def read(self, schedule: str) -> tuple[Template, dict[int, Any]]:
        """Return the template of a trace, and its decisions."""
        try:
            instructions, decisions = json.loads(schedule)
            end = next(
                (n for n, instruction in enumerate(instructions) if instruction[0] == POSTPROC),
                len(instructions),
            )
            decided = instructions[:end]
            # Version 2 of marshal writes no references to equal objects: equal lists, equal bytes.
            key = marshal.dumps(decided, 2)
            template = self._known.get(key)
            if template is None:
                template = _TemplateMaker().make(decided)
                if len(self._known) >= TEMPLATES:
                    self._known.clear()
                self._known[key] = template
            return template, {int(index): value for index, value in decisions}
        except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
            raise SpaceError(f"not a trace of MetaSchedule: {error}") from error


def encode_trace(schedule: str) -> Floats:
    """Return features of one schedule; templates of similar schedules are cached."""
    return np.asarray(encode_traces([schedule])[0])


def encode_traces(schedules: Sequence[str]) -> Floats:
    """Return features of each schedule; templates of similar schedules are cached."""
    return _shared().encode(schedules)


@cache
def _shared() -> TraceEncoder:
    return TraceEncoder()


def fill_in(
    places: list[Hole],
    drawn: dict[int, Any],
    start: int,
    positions: list[int],
    values: list[float],
) -> None:
    """Collect a trace's decisions and their positions in an array of many traces."""
    for instruction, choices, holes in places:
        value = drawn.get(instruction)
        if choices is not None:
            known = isinstance(value, int) and 0 <= value < len(choices)
            value = choices[value] if known else None  # type: ignore[index]
        several = isinstance(value, list)
        for item, position in holes:
            one = (value[item] if item < len(value) else None) if several else value  # type: ignore[arg-type,index]
            positions.append(start + position)
            values.append(number(one))


@dataclass
class _TemplateMaker:
    """Walks over instructions once, recording where each variable was made."""

    base: Floats = field(default_factory=lambda: np.zeros(SHAPE, np.float32))
    raw: list[float] = field(default_factory=list)
    rows: int = 0
    made: dict[str, tuple[int, int]] = field(default_factory=dict)
    drawn: dict[str, _Drawn] = field(default_factory=dict)
    choices: dict[int, list[Any]] = field(default_factory=dict)
    holes: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def make(self, instructions: list[Any]) -> Template:
        for index, (name, inputs, attributes, outputs) in enumerate(instructions):
            if not isinstance(name, str) or not all(
                isinstance(part, list) for part in (inputs, attributes, outputs)
            ):
                raise ValueError(f"instruction {index} is {str(name)[:40]!r}")
            if name.startswith("Sample"):
                self._sample(index, attributes, outputs)
                continue
            if not name.startswith("Get"):
                if self.rows < LENGTH:
                    self._row(name, inputs, attributes)
                self.rows += 1
            for item, output in enumerate(outputs):
                self.made[str(output)] = (self.rows, item)
        holes = [(n, self.choices.get(n), positions) for n, positions in self.holes.items()]
        return Template(self.base.reshape(-1), self.rows, holes)

    def _sample(self, index: int, attributes: list[Any], outputs: list[Any]) -> None:
        if attributes and isinstance(attributes[0], list):
            self.choices[index] = attributes[0]
        for item, output in enumerate(outputs):
            self.drawn[str(output)] = _Drawn(index, item)

    def _row(self, name: str, inputs: list[Any], attributes: list[Any]) -> None:
        row = self.base[self.rows]
        other = len(KINDS) + bucket(name, OTHER_KINDS)
        row[_KIND_COLUMN.get(name, other)] = 1
        row[_COUNT] = log_magnitude(len(inputs))
        self.raw = []
        references = 0
        for value in leaves(inputs):
            if isinstance(value, str) and value in self.made:
                age, item = self.rows - self.made[value][0], self.made[value][1]
                if references < REFERENCES:
                    start = _REFERENCE + 2 * references
                    row[start : start + 2] = log_magnitude((age, item))
                    references += 1
                else:
                    self.raw.append(item)
            else:
                self._number(value)
        for value in leaves(attributes):
            if isinstance(value, str):
                shared = _WORD + len(WORDS) + bucket(value, OTHER_WORDS)
                row[_WORD_COLUMN.get(value, shared)] = 1
            else:
                self._number(value)
        numbers = self.raw[:NUMBERS]
        row[_NUMBER : _NUMBER + len(numbers)] = log_magnitude(numbers)

    def _number(self, value: Any) -> None:
        """Add a number to the row, or leave a hole for a drawn one."""
        at = len(self.raw)
        if isinstance(value, str) and value in self.drawn:
            drawn = self.drawn[value]
            if at < NUMBERS:
                position = self.rows * WIDTH + _NUMBER + at
                self.holes.setdefault(drawn.instruction, []).append((drawn.item, position))
            self.raw.append(0.0)
        elif value is None or value == "None":  # a factor that follows from the others
            self.raw.append(-1.0)
        elif isinstance(value, str):
            self.raw.append(1.0 + bucket(value, 255))
        else:
            self.raw.append(number(value))
