"""Bounded reading of lines, plain or gzip; damage is yielded, not raised."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from graph_net.store.files import open_regular

Parsed = TypeVar("Parsed")
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
CHUNK = 1 << 20
BROKEN_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)


class ReadError(ValueError):
    """A file, or a line of one, that cannot be read."""


@dataclass(frozen=True)
class Damage:
    """Why a line or element was skipped."""

    reason: str


@dataclass(frozen=True)
class ReadLimits:
    """Limits of a file and of its lines."""

    line_bytes: int = 8 << 20
    """Of a line, or of one element of a document."""
    file_bytes: int = 256 << 30
    """Of a file, unpacked."""

    def too_long(self) -> Damage:
        """Return the damage of a line over the limit."""
        return Damage(f"a line of more than {self.line_bytes} bytes")


DEFAULT_LIMITS = ReadLimits()


@dataclass(frozen=True)
class Place:
    """A position: the line (or element) counted from 1, the unpacked byte from 0."""

    line: int
    offset: int


@contextmanager
def open_stream(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, unpacked as it is read."""
    with open_regular(path) as file:
        magic = file.read(4)
        file.seek(0)
        if magic == ZIP:
            raise ReadError(f"{path} is a zip archive; unpack it and give its files")
        if magic[:2] != GZIP:
            yield file
            return
        with gzip.open(file) as unpacked:
            yield unpacked  # type: ignore[misc]


@dataclass(frozen=True)
class Lines:
    """Whole lines of a file, and the position of the first."""

    place: Place
    data: bytes

    def split(self) -> Iterator[tuple[Place, bytes]]:
        """Yield every line with its break; only the last of a file may have none."""
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
    """Yield all lines, about a megabyte at a time; one far over the limit is never in memory."""
    number, offset, held = 1, 0, b""
    with open_stream(path) as file:
        pieces = _read_pieces(file)
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
                    skipped, held = _skip(pieces, limits)
                    number, offset = number + 1, offset + long + skipped
                if offset > limits.file_bytes:
                    raise ReadError(f"{path} has more than the limit of {limits.file_bytes} bytes")
        except BROKEN_GZIP as error:
            if end := held.rfind(b"\n") + 1:
                yield Lines(Place(number, offset), held[:end])
            place = Place(number + held.count(b"\n"), offset + end)
            yield place, Damage(f"the compressed data breaks off: {error}")
            return
    if held:
        yield Lines(Place(number, offset), held)


def _read_pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a file in large pieces, including those before a damaged end."""
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
    """Skip to the end of a line; return how many bytes were skipped, and those read after it."""
    skipped = 0
    for piece in pieces:
        end = piece.find(b"\n") + 1
        if end:
            return skipped + end, piece[end:]
        skipped += len(piece)
        if skipped > limits.file_bytes:
            break
    return skipped, b""


def read_lines(
    path: Path, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, bytes | Damage]]:
    """Yield every line that is not empty, or the damage of one over the limit."""
    for chunk in read_chunks(path, limits):
        if not isinstance(chunk, Lines):
            yield chunk
            continue
        for position, line in chunk.split():
            if len(line) > limits.line_bytes:
                yield position, limits.too_long()
            elif not line.isspace():
                yield position, line


def read_each(
    path: Path, limits: ReadLimits, read: Callable[[bytes], Parsed]
) -> Iterator[tuple[Place, Parsed | Damage]]:
    """Yield what ``read`` returns for each line, or its damage."""
    for position, line in read_lines(path, limits):
        try:
            yield position, line if isinstance(line, Damage) else read(line)
        except ReadError as error:
            yield position, Damage(str(error))
