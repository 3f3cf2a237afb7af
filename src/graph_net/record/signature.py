"""Error messages made short, and masked so that equal failures look equal."""

from __future__ import annotations

import re

LONGEST = 2000
_MASKS = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x…"),
    (re.compile(r"(/[\w.+\-]+)+/([\w.+\-]+)"), r"…/\2"),
    (re.compile(r"'[^'\n]*'|\"[^\"\n]*\""), "'…'"),
    (re.compile(r"\b\d+(\.\d+)?(e[-+]?\d+)?\b"), "#"),
    (re.compile(r"\b[0-9a-f]{12,}\b"), "…"),
)


def message_of(error: BaseException) -> str:
    """What an exception says, with its class and what was noted on it."""
    notes = getattr(error, "__notes__", ())
    text = f"{type(error).__name__}: {error}".strip()
    whole = "\n".join((text, *notes))[:LONGEST]
    return whole.encode("utf-8", "backslashreplace").decode()


def signature_of(message: str) -> str:
    """The first line of a message with numbers, names, paths and addresses masked."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line[:200]
