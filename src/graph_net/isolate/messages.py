"""Messages between a process and the one that forked it: two lengths, JSON, bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

MOST_TEXT = 20_000
"""The most characters of an exception's text; a list of unsupported operators is long."""


class BadMessage(ValueError):
    """Bytes that are not a message, or one beyond the limits."""


def encode(tree: dict[str, Any], blob: bytes = b"") -> bytes:
    """Return a message: two lengths, JSON, bytes; a dataclass is sent as its fields."""
    text = json.dumps(tree, default=asdict).encode()
    return len(text).to_bytes(4, "little") + len(blob).to_bytes(8, "little") + text + blob


@dataclass
class Inbox:
    """A buffer that assembles messages from bytes as they arrive, within limits on both parts."""

    most_text: int = 1 << 28
    most_blob: int = 1 << 33
    _held: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Return the messages that are complete now; iterating raises BadMessage at a bad one."""
        self._held += data
        return self._complete()

    def _complete(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        while len(self._held) >= 12:
            text = int.from_bytes(self._held[:4], "little")
            blob = int.from_bytes(self._held[4:12], "little")
            if text > self.most_text or blob > self.most_blob:
                raise BadMessage(f"a message of {text + blob} bytes is over the limit")
            end = 12 + text + blob
            if len(self._held) < end:
                break
            message = bytes(self._held[12 : 12 + text])
            rest = bytes(self._held[12 + text : end])
            del self._held[:end]
            yield _parse(message), rest


def _parse(text: bytes) -> dict[str, Any]:
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"not JSON: {error}") from error
    if not isinstance(tree, dict):
        raise BadMessage("not a JSON object")
    return tree


def text_of(error: BaseException) -> str:
    """Return an exception's own text, of bounded length, whatever its class does."""
    try:
        text = str.__str__(str(error))  # a plain str, even if the class returned a subclass
    except BaseException as second:
        text = f"(its text cannot be read: {type(second).__name__})"
    return text[:MOST_TEXT].encode("utf-8", "backslashreplace").decode()
