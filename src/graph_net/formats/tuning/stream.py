"""A file a line at a time, plain or gzip, with bounds; what cannot be read is told, not raised."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

Found = TypeVar("Found")
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
BROKEN_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)


class TuningError(ValueError):
    """A file, or a line of one, is no tuner's record."""


@dataclass(frozen=True)
class Limits:
    """What is read at most."""

    line_bytes: int = 8 << 20
    """Of a line, or of one element of a document."""
    file_bytes: int = 256 << 30
    """Of a file, unpacked."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class Place:
    """Where something stands: the line (or element) counted from 1, the byte from 0, unpacked."""

    line: int
    offset: int


@dataclass(frozen=True)
class Damage:
    """Why something at a place was passed over."""

    reason: str


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked as they are read."""
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic == ZIP:
            raise TuningError(f"{path} is a zip archive: unpack it and give the files in it")
        if magic[:2] != GZIP:
            yield file
            return
        with gzip.open(file) as unpacked:
            yield unpacked  # type: ignore[misc]


def read_lines(
    path: Path, limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, bytes | Damage]]:
    """Every line that is not empty; one that is too long is passed over without being held."""
    number = offset = 0
    with opened(path) as file:
        try:
            while line := file.readline(limits.line_bytes + 1):
                number += 1
                place = Place(number, offset)
                offset += len(line)
                if len(line) > limits.line_bytes:
                    if not line.endswith(b"\n"):
                        offset += _skip(file, limits)
                    yield place, Damage(f"a line of more than {limits.line_bytes} bytes")
                elif not line.isspace():
                    yield place, line
                if offset > limits.file_bytes:
                    raise TuningError(f"{path} has more than {limits.file_bytes} bytes")
        except BROKEN_GZIP as error:
            yield Place(number + 1, offset), Damage(f"the compressed data breaks off: {error}")


def _skip(file: IO[bytes], limits: Limits) -> int:
    """Read to the end of the line; how many bytes that were."""
    passed = 0
    while passed <= limits.file_bytes and (rest := file.readline(1 << 16)):
        passed += len(rest)
        if rest.endswith(b"\n"):
            break
    return passed


def read_each(
    path: Path, limits: Limits, read: Callable[[bytes], Found]
) -> Iterator[tuple[Place, Found | Damage]]:
    """What each line holds, or why it holds nothing."""
    for place, line in read_lines(path, limits):
        try:
            yield place, line if isinstance(line, Damage) else read(line)
        except TuningError as error:
            yield place, Damage(str(error))
