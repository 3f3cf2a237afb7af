"""Read Ansor's records a chunk at a time, into columns, with the results of the line reader.

TenSet has 52 million lines, and decoding JSON costs 100 µs per line. But a tuner formats all lines
alike: the task's part is the same bytes thousands of times, and the steps are a few texts with
different numbers. A line is cut into these parts. A known part is looked up; a new part is first
decoded by the line reader. A line of any other form is passed whole to the line reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.formats.ansor import read_line
from graph_net.programs.formats.columns import (
    Coded,
    ProgramColumns,
    block_of,
    concatenate,
    schedule_hashes,
    size_of,
)
from graph_net.programs.formats.decoded_parts import ENTRY, UNKNOWN, DecodedParts
from graph_net.programs.formats.outcome import FAILURES
from graph_net.programs.formats.results import Results, read_results, repeats_of
from graph_net.programs.formats.text_numbers import GAP, numbered_lines
from graph_net.programs.formats.values import HUGE, LATEST
from graph_net.results import NEVER, Failure, Program, Task
from graph_net.results.timing import SMALLEST
from graph_net.store.lines import (
    DEFAULT_LIMITS,
    Damage,
    Lines,
    Place,
    ReadError,
    ReadLimits,
    read_chunks,
)

BEFORE, AFTER, VERSION = b"], [[], [[", b']]], "r": [[', b'], "v": "'
"""Text before and after the steps; both contain the outermost brackets of the steps."""
REMEMBERED = 1 << 26
"""Most bytes of cached parts, texts, numbers and costs, besides one chunk of the file."""
_VERSION = re.compile(rb'\], "v": "([\w.]{0,32})"\}')
_STEPS = re.compile(rb'(?:[][,\x01]|"[\x01!#-+\--[\]-~]*+")*+')
"""Lists of integers and of texts without escapes, commas and spaces.

Possessive, because backtracking over a long text would take a hundred times its memory.
"""
_NO_STEPS = b'], [[], []]], "r": [[1], 0, 1, 1], "v": ""}'
_NO_TASK = b'{"i": [["[\\"\\"]", ""], [[], '
_NO_RESULT = b']], "r": [[1], 0, 1, 1], "v": ""}'
_FAILURES: list[Failure | None] = [FAILURES.get(number) for number in range(1 + max(FAILURES))]


def read_ansor_blocks(
    path: Path, rows: int, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[ProgramColumns | tuple[Place, Damage]]:
    """Yield the programs of a file in blocks of about ``rows``, and damage as it occurs."""
    held: list[ProgramColumns] = []
    quick = _Quick(limits)
    for found in read_chunks(path, limits):
        if not isinstance(found, Lines):
            yield found
            continue
        blocks, damages = quick.read(found)
        yield from damages
        held += blocks
        if sum(map(len, held)) >= rows or quick.size + quick.known > REMEMBERED:
            yield from [concatenate(held)] if held else []
            held, quick = [], _Quick(limits)
    if held:
        yield concatenate(held)


@dataclass(frozen=True)
class _Cut:
    """Lines cut into parts; the parts of one line have the same index in every list."""

    rows: list[int]
    """Index of each line in the chunk."""
    heads: list[bytes]
    steps: list[bytes]
    results: list[bytes]
    versions: list[bytes]

    def only(self, good: NDArray[np.bool_]) -> _Cut:
        """Return the selected lines."""
        if good.all():
            return self
        kept = np.flatnonzero(good).tolist()
        return _Cut(
            [self.rows[place] for place in kept],
            *([part[place] for place in kept] for part in self.parts),
        )

    @property
    def parts(self) -> tuple[list[bytes], ...]:
        return self.heads, self.steps, self.results, self.versions


class _Quick:
    """Caches of what a file repeats: tasks, versions, and steps without numbers."""

    def __init__(self, limits: ReadLimits) -> None:
        self.size = 0
        self._limits = limits
        self._tasks = DecodedParts(_task_of)
        self._versions = DecodedParts(_version_of)
        self._skeletons = DecodedParts(_skeleton_of)
        self._shapes = DecodedParts(repeats_of)
        self._pairs: set[int] = set()

    def read(self, chunk: Lines) -> tuple[list[ProgramColumns], list[tuple[Place, Damage]]]:
        """Return the programs of some lines, and the damaged lines."""
        lines = chunk.data.split(b"\n")
        cut = _cut(lines, self._limits)
        blocks = self._blocks(cut, chunk.place.line) if cut.rows else []
        quick = {row - chunk.place.line for block in blocks for row in block.lines.tolist()}
        others = [row for row in range(len(lines)) if row not in quick]
        numbers: list[int] = []
        programs: list[Program] = []
        damages: list[tuple[Place, Damage]] = []
        for place, line in _places(chunk, lines, others):
            try:
                if len(line) > self._limits.line_bytes:
                    raise ReadError(self._limits.too_long().reason)
                if line and not line.isspace():
                    programs.append(read_line(line))
                    numbers.append(place.line)
            except ReadError as error:
                damages.append((place, Damage(str(error))))
        if programs:
            blocks.append(block_of(numbers, programs))
            self.size += sum(map(size_of, programs))
        blocks = [block for block in blocks if len(block)]
        self.size += sum(block.numbers.nbytes + block.costs.nbytes for block in blocks)
        return blocks, damages

    @property
    def known(self) -> int:
        """Bytes of the caches."""
        parts = (self._tasks, self._versions, self._skeletons, self._shapes)
        return sum(part.size for part in parts)

    def _blocks(self, cut: _Cut, first: int) -> list[ProgramColumns]:
        """Return the lines of the expected form; the chunk's first line has number ``first``."""
        fits, results = read_results(cut.results, self._shapes)
        return [self._block(cut.only(fits), results, first)] if fits.any() else []

    def _block(self, cut: _Cut, results: Results, first: int) -> ProgramColumns:
        texts, good = _canonical(cut.steps)
        apart = numbered_lines(np.frombuffer(texts, np.uint8))
        tasks, versions = self._tasks.codes(cut.heads), self._versions.codes(cut.versions)
        skeletons = self._skeletons.codes(apart.skeletons)
        for codes in (tasks, versions, skeletons):
            good &= codes != UNKNOWN
        good &= _in_range(results)
        self._count_texts(tasks << 32 | skeletons, cut.steps)
        timed = good & (results.errors == 0)
        absent = Coded([""], np.zeros(int(good.sum()), np.int64))
        hashes = schedule_hashes(texts.split(b"\n")[:-1])
        return ProgramColumns(
            (np.array(cut.rows, np.int64) + first)[good],
            Coded(self._tasks.values, tasks[good]),
            Coded(self._versions.values, versions[good]),
            Coded(_FAILURES, results.errors[good]),
            absent,
            absent,
            results.costs[np.repeat(timed, results.repeats)],
            np.where(timed, results.repeats, 0)[good],
            results.seconds[good],
            results.stamps[good],
            hashes[good],
            Coded(self._skeletons.values, skeletons[good]),
            apart.numbers[np.repeat(good, apart.counts)],
            apart.counts[good],
        )

    def _count_texts(self, pairs: NDArray[np.int64], steps: list[bytes]) -> None:
        """Count the text of each new pair of task and skeleton, which is stored once."""
        found, rows = np.unique(pairs, return_index=True)
        for pair, row in zip(found.tolist(), rows.tolist(), strict=True):
            if pair not in self._pairs:
                self._pairs.add(pair)
                self.size += len(steps[row]) + ENTRY


def _cut(lines: list[bytes], limits: ReadLimits) -> _Cut:
    """Return the lines that can be cut into the parts of a record."""
    cut = _Cut([], [], [], [], [])
    for row, line in enumerate(lines):
        before, after = line.find(BEFORE), line.rfind(AFTER)
        end = line.rfind(VERSION)
        if 0 < before < after < end and len(line) < limits.line_bytes:
            cut.rows.append(row)
            cut.heads.append(line[:before])
            cut.steps.append(line[before + len(BEFORE) - 2 : after + 1])
            cut.results.append(line[after + len(AFTER) : end])
            cut.versions.append(line[end:])
    return cut


def _task_of(head: bytes) -> Task | None:
    """Return the task of a line that begins with ``head``; None if it cannot be read."""
    program = _read(head + _NO_STEPS)
    return program.task if program else None


def _version_of(end: bytes) -> str | None:
    found = _VERSION.fullmatch(end)
    return found[1].decode() if found else None


def _skeleton_of(skeleton: bytes) -> bytes | None:
    """Return the steps without numbers if they are canonical and readable with any numbers."""
    steps = skeleton.replace(GAP, b"1")
    if not _STEPS.fullmatch(skeleton):
        return None
    program = _read(_NO_TASK + steps + _NO_RESULT)
    return skeleton if program and program.schedule.encode() == steps else None


def _read(line: bytes) -> Program | None:
    try:
        return read_line(line)
    except ReadError:
        return None


def _canonical(steps: list[bytes]) -> tuple[bytes, NDArray[np.bool_]]:
    """Return the steps without spaces, one per line, and which had spaces after commas only."""
    data = b"\n".join(steps) + b"\n"
    spaced = np.frombuffer(data, np.uint8)
    wrong = (spaced[1:] == ord(" ")) != (spaced[:-1] == ord(","))
    good = np.ones(len(steps), bool)
    if wrong.any():
        ends = np.cumsum([len(text) + 1 for text in steps])
        good[np.searchsorted(ends, np.flatnonzero(wrong) + 1, "right")] = False
    return data.translate(None, b" "), good


def _in_range(results: Results) -> NDArray[np.bool_]:
    """Return which lines have valid numbers: real times of a success, any times of a failure."""
    failed = np.repeat(results.errors > 0, results.repeats)
    ran = (results.costs >= SMALLEST) & (results.costs < NEVER)
    fits = np.where(failed, results.costs <= HUGE, ran)
    good = np.logical_and.reduceat(fits, np.cumsum(results.repeats) - results.repeats)
    known = results.errors < len(_FAILURES)
    return good & known & (results.seconds <= HUGE) & (results.stamps <= LATEST)


def _places(chunk: Lines, lines: list[bytes], rows: list[int]) -> Iterator[tuple[Place, bytes]]:
    """Yield some lines of a chunk as they are in the file, with their places."""
    offset = done = 0
    for row in rows:
        offset += sum(len(line) + 1 for line in lines[done:row])
        done = row
        end = b"\n" if row < len(lines) - 1 else b""
        yield Place(chunk.place.line + row, chunk.place.offset + offset), lines[row] + end
