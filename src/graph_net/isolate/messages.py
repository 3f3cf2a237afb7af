"""Messages between a process and the one that forked it: two lengths, JSON, bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

MOST_TEXT = 20_000
"""Letters of an exception's text; one that names every operator in the way is long."""


class BadMessage(ValueError):
    """Bytes that are no message of ours, or one beyond the limits."""


def encode(tree: dict[str, Any], blob: bytes = b"") -> bytes:
    """A message: two lengths, JSON, bytes; a dataclass goes as its fields."""
    text = json.dumps(tree, default=asdict).encode()
    return len(text).to_bytes(4, "little") + len(blob).to_bytes(8, "little") + text + blob


@dataclass
class Inbox:
    """Puts messages together from bytes as they arrive, within limits on both of their parts."""

    most_text: int = 1 << 28
    most_blob: int = 1 << 33
    _held: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Return the messages that are complete now, those before a bad one first."""
        self._held += data
        return self._complete()

    def _complete(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        while len(self._held) >= 12:
            text = int.from_bytes(self._held[:4], "little")
            blob = int.from_bytes(self._held[4:12], "little")
            if text > self.most_text or blob > self.most_blob:
                raise BadMessage(f"a message of {text + blob} bytes")
            end = 12 + text + blob
            if len(self._held) < end:
                break
            message = bytes(self._held[12 : 12 + text])
            rest = bytes(self._held[12 + text : end])
            del self._held[:end]
            yield _tree(message), rest


def _tree(text: bytes) -> dict[str, Any]:
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"no JSON: {error}") from error
    if not isinstance(tree, dict):
        raise BadMessage("JSON, but no object")
    return tree


def text_of(error: BaseException) -> str:
    """An exception's own text, of bounded length, whatever its class does when asked for it."""
    try:
        text = str.__str__(str(error))  # of a subclass too, whose own methods are not asked
    except BaseException as second:
        text = f"(its text cannot be had: {type(second).__name__})"
    return text[:MOST_TEXT].encode("utf-8", "backslashreplace").decode()
