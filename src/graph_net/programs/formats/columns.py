"""Many programs as columns: the form in which a file of millions is read and stored."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.formats.text_numbers import split_numbers
from graph_net.results import Failure, Program, Task, canonical
from graph_net.results.canonical import plain

Value = TypeVar("Value", bound=Hashable)
COST_BYTES = 32
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Coded(Generic[Value]):
    """A dictionary-encoded column: each row is an index into a table, some of it unused."""

    values: list[Value]
    index: Ints

    def compact(self) -> Coded[Value]:
        """Return the column with a table of the values in use, in the order of the old table."""
        found, index = np.unique(self.index, return_inverse=True)
        return Coded([self.values[number] for number in found.tolist()], index)

    def take(self, rows: Ints) -> Coded[Value]:
        return Coded(self.values, self.index[rows])


@dataclass(frozen=True)
class ProgramColumns:
    """Programs as columns; a ragged column is flat, with the number of values per row."""

    lines: Ints
    tasks: Coded[Task]
    versions: Coded[str]
    failures: Coded[Failure | None]
    extras: Coded[str]
    devices: Coded[str]
    """The Device of each program as JSON; empty if there is none."""
    costs: Floats
    repeats: Ints
    seconds: Floats
    """NaN if the file does not say; so is ``measured``."""
    measured: Floats
    programs: NDArray[np.uint64]
    """Hash of each schedule."""
    skeletons: Coded[bytes]
    numbers: NDArray[np.int32]
    counts: Ints

    def __len__(self) -> int:
        return len(self.lines)

    def take(self, rows: Ints) -> ProgramColumns:
        """Return some rows, or all rows in another order."""
        return ProgramColumns(
            self.lines[rows],
            self.tasks.take(rows),
            self.versions.take(rows),
            self.failures.take(rows),
            self.extras.take(rows),
            self.devices.take(rows),
            self.costs[_spans(self.repeats, rows)],
            self.repeats[rows],
            self.seconds[rows],
            self.measured[rows],
            self.programs[rows],
            self.skeletons.take(rows),
            self.numbers[_spans(self.counts, rows)],
            self.counts[rows],
        )


def _spans(counts: Ints, rows: Ints) -> Ints:
    """Return the indices of some rows' values in a flat column."""
    starts, sizes = (np.cumsum(counts) - counts)[rows], counts[rows]
    shift = starts - (np.cumsum(sizes) - sizes)
    return np.repeat(shift, sizes) + np.arange(int(sizes.sum()))


def schedule_hashes(texts: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return the hashes that identify schedules."""
    hashes = [blake2b(text, digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(hashes), "<u8")


def encode(values: Sequence[Value]) -> Coded[Value]:
    """Dictionary-encode values."""
    known: dict[Value, int] = {}
    index = np.array([known.setdefault(value, len(known)) for value in values], np.int64)
    return Coded(list(known), index)


def size_of(program: Program) -> int:
    """Estimate the bytes that a program takes: its texts, and one object per cost."""
    task = program.task
    texts = (program.schedule, program.extra, task.workload, task.kernel, task.target, task.details)
    return sum(map(len, texts)) + COST_BYTES * len(program.costs)


def block_of(lines: Sequence[int], programs: Sequence[Program]) -> ProgramColumns:
    """Return programs, with their line numbers, as columns."""
    texts = [program.schedule.encode() for program in programs]
    apart = split_numbers(texts)
    return ProgramColumns(
        np.array(lines, np.int64),
        encode([program.task for program in programs]),
        encode([program.version for program in programs]),
        encode([program.failure for program in programs]),
        encode([program.extra for program in programs]),
        encode([_device_text(program) for program in programs]),
        np.array([cost for program in programs for cost in program.costs], np.float64),
        np.array([len(program.costs) for program in programs], np.int64),
        _floats([program.seconds for program in programs]),
        _floats([program.measured for program in programs]),
        schedule_hashes(texts),
        encode(apart.skeletons),
        apart.numbers,
        apart.counts,
    )


def _device_text(program: Program) -> str:
    return canonical(plain(program.device)) if program.device else ""


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def concatenate(blocks: Sequence[ProgramColumns]) -> ProgramColumns:
    """Return the rows of several blocks as one."""
    return ProgramColumns(
        np.concatenate([block.lines for block in blocks]),
        _joined([block.tasks for block in blocks]),
        _joined([block.versions for block in blocks]),
        _joined([block.failures for block in blocks]),
        _joined([block.extras for block in blocks]),
        _joined([block.devices for block in blocks]),
        np.concatenate([block.costs for block in blocks]),
        np.concatenate([block.repeats for block in blocks]),
        np.concatenate([block.seconds for block in blocks]),
        np.concatenate([block.measured for block in blocks]),
        np.concatenate([block.programs for block in blocks]),
        _joined([block.skeletons for block in blocks]),
        np.concatenate([block.numbers for block in blocks]),
        np.concatenate([block.counts for block in blocks]),
    )


def _joined(columns: Sequence[Coded[Value]]) -> Coded[Value]:
    """Join dictionary-encoded columns; blocks of one reader share a table, which is read once."""
    known: dict[Value, int] = {}
    moved: dict[int, Ints] = {}
    parts: list[Ints] = []
    for column in columns:
        places = moved.get(id(column.values))
        if places is None or len(places) < len(column.values):
            found = [known.setdefault(value, len(known)) for value in column.values]
            places = moved[id(column.values)] = np.array(found, np.int64)
        parts.append(places[column.index])
    return Coded(list(known), np.concatenate(parts))
