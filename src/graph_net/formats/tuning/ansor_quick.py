"""Ansor's records by the megabyte: the same programs and damages as line by line, in columns.

TenSet has 52 million lines, and decoding JSON costs 100 µs a line. But a tuner writes its lines in
one way: the task's part is the same bytes thousands of times, and the steps are a few texts with
other numbers in them. So a line is cut where these parts meet; a part that was seen before is
known, and one that is new is first decoded by the reader of single lines. A line that is anything
else than expected goes to that reader whole, and comes to what it comes to there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from graph_net.formats.tuning.ansor import read_line
from graph_net.formats.tuning.block import Block, Coded, block_of, joined, schedule_hashes
from graph_net.formats.tuning.numbered import GAP, numbered_lines
from graph_net.formats.tuning.outcome import FAILURES
from graph_net.formats.tuning.stream import (
    DEFAULT_LIMITS,
    Damage,
    Limits,
    Lines,
    Place,
    TuningError,
    read_chunks,
)
from graph_net.formats.tuning.values import HUGE, LATEST
from graph_net.record import NEVER, Failure, Program, Task

Value = TypeVar("Value")
BEFORE, AFTER = b"], [[], [[", b']]], "r": [['
"""What stands around the steps; the outermost brackets of the steps are in both."""
REMEMBERED = 1 << 26
"""Bytes of parts, numbers and costs that are held at most, beside a chunk of the file."""
_NUMBER = rb"(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,30})?(?:e[+-]?[0-9]{1,3})?"
_RESULT = re.compile(
    rb'((?:N, ){0,63}N)\], ([0-8]), (N), (N)\], "v": "([\w.]{0,32})"\}'.replace(b"N", _NUMBER)
)
_STEPS = re.compile(rb'(?:[][,\x01]|"[\x01!#-+\--[\]-~]*")*')
"""Lists of whole numbers and of texts without escapes, commas and spaces."""
_NO_STEPS = b'], [[], []]], "r": [[1], 0, 1, 1], "v": ""}'
_NO_TASK = b'{"i": [["[\\"\\"]", ""], [[], '
_NO_RESULT = b']], "r": [[1], 0, 1, 1], "v": ""}'
_FAILURES: list[Failure | None] = [FAILURES.get(number) for number in range(1 + max(FAILURES))]


def read_ansor_blocks(
    path: Path, rows: int, limits: Limits = DEFAULT_LIMITS
) -> Iterator[Block | tuple[Place, Damage]]:
    """The programs of a file in blocks of about so many; damages as they are met."""
    held: list[Block] = []
    quick = _Quick(limits)
    for found in read_chunks(path, limits):
        if not isinstance(found, Lines):
            yield found
            continue
        blocks, damages = quick.read(found)
        yield from damages
        held += blocks
        if sum(map(len, held)) >= rows or quick.size + quick.known > REMEMBERED:
            yield joined(held)
            held, quick = [], _Quick(limits)
    if held:
        yield joined(held)


@dataclass
class _Cut:
    """Lines that are as expected, in parts: each line's in the same place of every list."""

    rows: list[int] = field(default_factory=list)
    """Which line of the chunk."""
    tasks: list[int] = field(default_factory=list)
    steps: list[bytes] = field(default_factory=list)
    results: list[tuple[bytes, ...]] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    """Lines that are not."""


class _Quick:
    """What was seen of a file: its tasks, versions and steps without numbers."""

    def __init__(self, limits: Limits) -> None:
        self.size = 0
        self._limits = limits
        self._tasks = _Parts(_task_of)
        self._versions = _Parts(lambda part: part.decode())
        self._skeletons = _Parts(_skeleton_of)

    def read(self, chunk: Lines) -> tuple[list[Block], list[tuple[Place, Damage]]]:
        """The programs of some lines, and what cannot be read."""
        lines = chunk.data.split(b"\n")
        cut = self._cut(lines)
        blocks = [self._block(cut, chunk.place.line)] if cut.rows else []
        numbers: list[int] = []
        programs: list[Program] = []
        damages: list[tuple[Place, Damage]] = []
        for place, line in _places(chunk, lines, sorted(cut.others)):
            try:
                if len(line) > self._limits.line_bytes:
                    raise TuningError(self._limits.too_long().reason)
                if line and not line.isspace():
                    programs.append(read_line(line))
                    numbers.append(place.line)
            except TuningError as error:
                damages.append((place, Damage(str(error))))
        if programs:
            blocks.append(block_of(numbers, programs))
        blocks = [block for block in blocks if len(block)]
        self.size += sum(block.numbers.nbytes + block.costs.nbytes for block in blocks)
        return blocks, damages

    @property
    def known(self) -> int:
        """Bytes of what is remembered."""
        return self._tasks.size + self._versions.size + self._skeletons.size

    def _cut(self, lines: list[bytes]) -> _Cut:
        cut = _Cut()
        code, result, most = self._tasks.code, _RESULT.fullmatch, self._limits.line_bytes
        for row, line in enumerate(lines):
            before, after = line.find(BEFORE), line.rfind(AFTER)
            found = result(line, after + len(AFTER)) if 0 < before < after else None
            if found is None or len(line) >= most or (task := code(line[:before])) is None:
                cut.others.append(row)
                continue
            cut.rows.append(row)
            cut.tasks.append(task)
            cut.steps.append(line[before + len(BEFORE) - 2 : after + 1])
            cut.results.append(found.groups())
        return cut

    def _block(self, cut: _Cut, first: int) -> Block:
        texts, good = _canonical(cut.steps)
        apart = numbered_lines(np.frombuffer(texts, np.uint8))
        codes = [self._skeletons.code(skeleton) for skeleton in apart.skeletons]
        skeletons = np.array([-1 if code is None else code for code in codes], np.int64)
        costs, errors, seconds, stamps, versions = zip(*cut.results, strict=True)
        flat = _floats(b",".join(costs).split(b","))
        repeats = np.array([1 + text.count(b",") for text in costs], np.int64)
        failed = np.array(list(map(int, errors)), np.int64)
        took, measured = _floats(seconds), _floats(stamps)
        good &= (skeletons >= 0) & (took <= HUGE) & (measured <= LATEST)
        good &= _in_range(flat, repeats, failed > 0)
        if not good.all():
            cut.others += [row for row, fits in zip(cut.rows, good, strict=True) if not fits]
        version = np.array([self._versions.code(part) for part in versions], np.int64)
        hashes = schedule_hashes(texts.split(b"\n")[:-1])
        timed = good & (failed == 0)
        return Block(
            (np.array(cut.rows, np.int64) + first)[good],
            Coded(self._tasks.values, np.array(cut.tasks, np.int64)[good]),
            Coded(self._versions.values, version[good]),
            Coded(_FAILURES, failed[good]),
            Coded([""], np.zeros(int(good.sum()), np.int64)),
            flat[np.repeat(timed, repeats)],
            np.where(timed, repeats, 0)[good],
            took[good],
            measured[good],
            hashes[good],
            Coded(self._skeletons.values, skeletons[good]),
            apart.numbers[np.repeat(good, apart.counts)],
            apart.counts[good],
        )


class _Parts(Generic[Value]):
    """Parts of lines, each decoded when it is first seen."""

    def __init__(self, decode: Callable[[bytes], Value | None]) -> None:
        self.values: list[Value] = []
        self.size = 0
        self._decode = decode
        self._codes: dict[bytes, int | None] = {}

    def code(self, part: bytes) -> int | None:
        """The place of a part's value; None where it is not as expected."""
        try:
            return self._codes[part]
        except KeyError:
            return self._learn(part)

    def _learn(self, part: bytes) -> int | None:
        value = self._decode(part)
        code = None if value is None else len(self.values)
        if value is not None:
            self.values.append(value)
        self._codes[part] = code
        self.size += len(part)
        return code


def _task_of(head: bytes) -> Task | None:
    """The task of a line that begins so, whatever steps and result come after."""
    program = _read(head + _NO_STEPS)
    return program.task if program else None


def _skeleton_of(skeleton: bytes) -> bytes | None:
    """Steps without their numbers, if with any numbers they are canonical and can be read."""
    steps = skeleton.replace(GAP, b"1")
    if not _STEPS.fullmatch(skeleton):
        return None
    program = _read(_NO_TASK + steps + _NO_RESULT)
    return skeleton if program and program.schedule.encode() == steps else None


def _read(line: bytes) -> Program | None:
    try:
        return read_line(line)
    except TuningError:
        return None


def _canonical(steps: list[bytes]) -> tuple[bytes, NDArray[np.bool_]]:
    """Steps without spaces, each with a line break; and which had one after every comma only."""
    data = b"\n".join(steps) + b"\n"
    spaced = np.frombuffer(data, np.uint8)
    wrong = (spaced[1:] == ord(" ")) != (spaced[:-1] == ord(","))
    good = np.ones(len(steps), bool)
    if wrong.any():
        ends = np.cumsum([len(text) + 1 for text in steps])
        good[np.searchsorted(ends, np.flatnonzero(wrong) + 1, "right")] = False
    return data.translate(None, b" "), good


def _floats(texts: Iterable[bytes]) -> NDArray[np.float64]:
    return np.array(list(map(float, texts)), np.float64)


def _in_range(
    costs: NDArray[np.float64], repeats: NDArray[np.int64], failed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Whether all costs of a line are: a success has real times, a failure any number."""
    fits = np.where(np.repeat(failed, repeats), costs <= HUGE, (costs > 0) & (costs < NEVER))
    return np.logical_and.reduceat(fits, np.cumsum(repeats) - repeats)


def _places(chunk: Lines, lines: list[bytes], rows: list[int]) -> Iterator[tuple[Place, bytes]]:
    """Some lines of a chunk as they stand in the file, with their places."""
    offset = done = 0
    for row in rows:
        offset += sum(len(line) + 1 for line in lines[done:row])
        done = row
        end = b"\n" if row < len(lines) - 1 else b""
        yield Place(chunk.place.line + row, chunk.place.offset + offset), lines[row] + end
