"""A file of lines that only grows: a kill loses at most the line that was being written.

A file whose name ends in ``.gz`` is compressed; what is written later is another member of gzip.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from graph_net.store.atomic import replacing
from graph_net.store.files import TooLarge, open_regular
from graph_net.store.lines import BROKEN_GZIP, Lines, open_stream, read_chunks

CHUNK = 1 << 16
LONGEST_LINE = 64 << 20


class LineJournal:
    """Appends lines to a file; a line that an earlier writer did not finish is dropped first.

    A durable line survives a loss of power once ``append`` has returned, any other a kill.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.durable = path, durable
        cut_torn_line(path)
        opened = gzip.GzipFile if path.suffix == ".gz" else open
        self._file: Any = opened(path, "ab")

    def append(self, line: bytes) -> None:
        """Store a line, which holds no line break."""
        self._file.write(line + b"\n")
        self._file.flush()
        if self.durable:
            os.fsync(self._file.fileno())

    def __enter__(self) -> LineJournal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def whole_lines(path: Path, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """Yield the lines of a file, without a last one that was not finished.

    Raises TooLarge on a longer line, before more of it is in memory.
    """
    with open_stream(path) as file, suppress(*BROKEN_GZIP):
        for number in count(1):
            line = file.readline(longest)
            if not line.endswith(b"\n"):
                if len(line) == longest:
                    why = f"longer than the {longest >> 20} MiB that are read here"
                    raise TooLarge(f"{path.name}, line {number}: {why}")
                return
            yield line


def cut_torn_line(path: Path) -> None:
    """Drop what follows the last line break of a file, as a killed writer leaves it."""
    if not path.exists():
        return
    if path.suffix == ".gz":
        _cut_gzip(path)
        return
    with open_regular(path), path.open("rb+") as file:
        _cut(file)


def _cut_gzip(path: Path) -> None:
    """Rewrite a file unless it ends with a line and a member of gzip: another may follow then."""
    last = b"\n"
    try:
        with gzip.open(open_regular(path)) as file:
            while data := file.read(CHUNK):
                last = data
        if last.endswith(b"\n"):
            return
    except BROKEN_GZIP:
        pass
    with replacing(path) as aside, gzip.open(aside, "wb") as whole:
        for found in read_chunks(path):
            if isinstance(found, Lines):
                whole.write(found.data[: found.data.rfind(b"\n") + 1])


def _cut(file: BinaryIO) -> None:
    """Truncate an open file after its last line break."""
    end = size = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - CHUNK)
        file.seek(start)
        place = file.read(end - start).rfind(b"\n")
        if place >= 0:
            end = start + place + 1
            break
        end = start
    if end < size:
        file.truncate(end)
