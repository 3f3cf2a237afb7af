"""An append-only file of lines: a kill loses at most the line being written.

A file whose name ends in ``.gz`` is compressed; each writer adds another gzip member.
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
    """A file to append lines to; an unfinished line of an earlier writer is dropped first.

    Once ``append`` has returned, a durable line survives a loss of power, any other a kill.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.durable = path, durable
        cut_torn_line(path)
        opened = gzip.GzipFile if path.suffix == ".gz" else open
        self._file: Any = opened(path, "ab")

    def append(self, line: bytes) -> None:
        """Append a line, which must hold no line break."""
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
    """Yield the lines of a file, except an unfinished last one.

    Raise TooLarge on a line over the limit, before more of it is in memory.
    """
    with open_stream(path) as file, suppress(*BROKEN_GZIP):
        for number in count(1):
            line = file.readline(longest)
            if not line.endswith(b"\n"):
                if len(line) == longest:
                    limit = f"longer than the limit of {longest >> 20} MiB"
                    raise TooLarge(f"{path.name}, line {number}: {limit}")
                return
            yield line


def cut_torn_line(path: Path) -> None:
    """Drop what follows the last line break of a file, left by a killed writer."""
    if not path.exists():
        return
    if path.suffix == ".gz":
        _cut_gzip(path)
        return
    with open_regular(path), path.open("rb+") as file:
        _cut(file)


def _cut_gzip(path: Path) -> None:
    """Rewrite a file unless it ends with a complete line and a complete gzip member."""
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
        index = file.read(end - start).rfind(b"\n")
        if index >= 0:
            end = start + index + 1
            break
        end = start
    if end < size:
        file.truncate(end)
