"""A file a line at a time, plain or gzip, with bounds; what cannot be read is told, not raised."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from graph_net.store.files import open_regular

Found = TypeVar("Found")
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
CHUNK = 1 << 20
BROKEN_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)


class TuningError(ValueError):
    """A file, or a line of one, is no tuner's record."""


@dataclass(frozen=True)
class Damage:
    """Why something at a place was passed over."""

    reason: str


@dataclass(frozen=True)
class ReadLimits:
    """What is read at most."""

    line_bytes: int = 8 << 20
    """Of a line, or of one element of a document."""
    file_bytes: int = 256 << 30
    """Of a file, unpacked."""

    def too_long(self) -> Damage:
        """What is said of a line over the limit."""
        return Damage(f"a line of more than {self.line_bytes} bytes")


DEFAULT_LIMITS = ReadLimits()


@dataclass(frozen=True)
class Place:
    """Where something stands: the line (or element) counted from 1, the byte from 0, unpacked."""

    line: int
    offset: int


@contextmanager
def open_stream(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked as they are read."""
    with open_regular(path) as file:
        magic = file.read(4)
        file.seek(0)
        if magic == ZIP:
            raise TuningError(f"{path} is a zip archive: unpack it and give the files in it")
        if magic[:2] != GZIP:
            yield file
            return
        with gzip.open(file) as unpacked:
            yield unpacked  # type: ignore[misc]


@dataclass(frozen=True)
class Lines:
    """Whole lines of a file, and where the first of them stands."""

    place: Place
    data: bytes

    def each(self) -> Iterator[tuple[Place, bytes]]:
        """Every line with its break; only the last of a file may have none."""
        number, offset = self.place.line, self.place.offset
        *whole, rest = self.data.split(b"\n")
        for line in whole:
            yield Place(number, offset), line + b"\n"
            number, offset = number + 1, offset + len(line) + 1
        if rest:
            yield Place(number, offset), rest


def read_chunks(
    path: Path, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[Lines | tuple[Place, Damage]]:
    """All lines, about a megabyte at a time; one that is much too long is told and never held."""
    number, offset, held = 1, 0, b""
    with open_stream(path) as file:
        pieces = _pieces(file)
        try:
            for piece in pieces:
                held += piece
                end = held.rfind(b"\n") + 1
                if end:
                    yield Lines(Place(number, offset), held[:end])
                    number, offset = number + held.count(b"\n"), offset + end
                    held = held[end:]
                if len(held) > limits.line_bytes:
                    yield Place(number, offset), limits.too_long()
                    long = len(held)
                    passed, held = _skip(pieces, limits)
                    number, offset = number + 1, offset + long + passed
                if offset > limits.file_bytes:
                    raise TuningError(f"{path} has more than {limits.file_bytes} bytes")
        except BROKEN_GZIP as error:
            if end := held.rfind(b"\n") + 1:
                yield Lines(Place(number, offset), held[:end])
            place = Place(number + held.count(b"\n"), offset + end)
            yield place, Damage(f"the compressed data breaks off: {error}")
            return
    if held:
        yield Lines(Place(number, offset), held)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a file in pieces of some size; what comes before a break is not lost."""
    held: list[bytes] = []
    broken: Exception | None = None
    try:
        while data := file.read1(CHUNK):  # type: ignore[attr-defined]
            held.append(data)
            if sum(map(len, held)) >= CHUNK:
                yield b"".join(held)
                held = []
    except BROKEN_GZIP as error:
        broken = error
    if held:
        yield b"".join(held)
    if broken:
        raise broken


def _skip(pieces: Iterator[bytes], limits: ReadLimits) -> tuple[int, bytes]:
    """Read to the end of a line: how many bytes that were, and what was read after it."""
    passed = 0
    for piece in pieces:
        end = piece.find(b"\n") + 1
        if end:
            return passed + end, piece[end:]
        passed += len(piece)
        if passed > limits.file_bytes:
            break
    return passed, b""


def read_lines(
    path: Path, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, bytes | Damage]]:
    """Every line that is not empty; one that is too long is passed over."""
    for found in read_chunks(path, limits):
        if not isinstance(found, Lines):
            yield found
            continue
        for place, line in found.each():
            if len(line) > limits.line_bytes:
                yield place, limits.too_long()
            elif not line.isspace():
                yield place, line


def read_each(
    path: Path, limits: ReadLimits, read: Callable[[bytes], Found]
) -> Iterator[tuple[Place, Found | Damage]]:
    """What each line holds, or why it holds nothing."""
    for place, line in read_lines(path, limits):
        try:
            yield place, line if isinstance(line, Damage) else read(line)
        except TuningError as error:
            yield place, Damage(str(error))
