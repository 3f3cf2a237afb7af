"""Read one JSON document in pieces: the members of its object, and each element of a list.

A document of any size is read with one piece in memory. Pieces are found by brackets alone and
checked when they are decoded, so a bad element does not affect others. Damage that unbalances the
brackets ends the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from graph_net.store.lines import (
    BROKEN_GZIP,
    Damage,
    Place,
    ReadError,
    ReadLimits,
    open_stream,
)

CHUNK = 1 << 16
_MARKS = re.compile(rb'\\.|["{}\[\],]', re.DOTALL)
_LIST = re.compile(rb'\s*"([^"\\]{1,64})"\s*:\s*')


@dataclass(frozen=True)
class JsonPiece:
    """An element of the list called ``list``; if that is empty, a member ``"name": value``."""

    list: str
    data: bytes


def read_pieces(path: Path, limits: ReadLimits) -> Iterator[tuple[Place, JsonPiece | Damage]]:
    """Yield the pieces of a document's outermost object, in order."""
    scan = _Scan(limits.line_bytes)
    with open_stream(path) as file:
        try:
            while not scan.done and (chunk := file.read(CHUNK)):
                yield from scan.feed(chunk)
                if scan.base > limits.file_bytes:
                    raise ReadError(f"{path} has more than {limits.file_bytes} bytes")
        except BROKEN_GZIP as error:
            yield scan.place(), Damage(f"the compressed data breaks off: {error}")
            return
    if not scan.done:
        yield scan.place(), Damage("the document breaks off")


@dataclass
class _Scan:
    """The state of the scan through a document."""

    most: int
    data: bytes = b""
    base: int = 0
    """Offset of ``data`` in the document. A piece begins there, or earlier if ``cut``."""
    depth: int = 0
    quoted: bool = False
    list: str = ""
    number: int = 0
    cut: bool = False
    nested: bool = False
    """Whether a bracket was seen in this piece; text after it cannot name a list."""
    done: bool = False
    _at: int = field(default=0)
    """How far ``data`` has been scanned."""

    def place(self) -> Place:
        return Place(self.number + 1, self.base)

    def feed(self, chunk: bytes) -> Iterator[tuple[Place, JsonPiece | Damage]]:
        self.data += chunk
        start = end = 0
        for mark in _MARKS.finditer(self.data, self._at):
            end = mark.end()
            sign = mark.group()
            if self.quoted or sign == b'"':
                self.quoted ^= sign == b'"'
                continue
            opens = sign == b"[" and self.depth == 1 and not self.nested
            ends = self._step(sign, self.data[start : mark.start()] if opens else b"")
            if ends is None:
                self.nested |= sign in (b"{", b"[")
                continue
            piece = self.data[start : mark.start()]
            if ends and (self.cut or piece.strip()):
                yield self._found(piece, start)
            start, self.cut, self.nested = end, False, False
            if sign == b"]":
                self.list = ""
            if self.done:
                break
        self._forget(start, end)

    def _step(self, sign: bytes, before: bytes) -> bool | None:
        """Return whether a mark ends a piece (True), begins one (False) or is inside one (None)."""
        if sign in (b"{", b"["):
            self.depth += 1
            if self.depth == 1:
                return False
            named = _LIST.fullmatch(before)
            if named is None or self.cut:
                return None
            self.list = named.group(1).decode("utf-8", "replace")
            self.number = 0
            return False
        if sign in (b"}", b"]"):
            self.depth -= 1
            self.done = self.depth <= 0
            return True if self.done or (self.list and self.depth == 1) else None
        return True if sign == b"," and self.depth == (2 if self.list else 1) else None

    def _found(self, piece: bytes, start: int) -> tuple[Place, JsonPiece | Damage]:
        self.number += 1
        place = Place(self.number, self.base + start)
        if self.cut or len(piece) > self.most:
            return place, Damage(f"an element of more than {self.most} bytes")
        return place, JsonPiece(self.list, piece)

    def _forget(self, start: int, end: int) -> None:
        """Keep the start of an incomplete piece, unless it is too long to be one."""
        if len(self.data) - start > self.most:
            self.cut, start = True, len(self.data) - self.data.endswith(b"\\")
        self.base += start
        whole = len(self.data)
        split = self.data.endswith(b"\\") and end < whole  # the escape continues in the next chunk
        self.data = self.data[start:]
        self._at = len(self.data) - split
