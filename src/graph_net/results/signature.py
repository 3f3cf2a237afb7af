"""Error messages made short, and masked so that equal failures look equal."""

from __future__ import annotations

import re

from graph_net.isolate.messages import MOST_TEXT, text_of
from graph_net.printable import printable

LONGEST = 2000
"""Letters of an exception's message."""
_MASKS = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x…"),
    (re.compile(r"(/[\w.+\-]+)+/([\w.+\-]+)"), r"…/\2"),
    (re.compile(r"'[^'\n]*'|\"[^\"\n]*\""), "'…'"),
    (re.compile(r"\b\d+(\.\d+)?(e[-+]?\d+)?\b"), "#"),
    (re.compile(r"\b[0-9a-f]{12,}\b"), "…"),
)


def message_of(error: BaseException) -> str:
    """What an exception says, with its class and what was noted on it."""
    notes = getattr(error, "__notes__", None)
    noted = [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []
    text = f"{type(error).__name__}: {text_of(error)}".strip()
    return clean_text("\n".join((text, *noted))[:LONGEST])


def clean_text(text: str) -> str:
    """A text that can be stored and shown: not too long, no half characters, no controls."""
    return printable(text[:MOST_TEXT], lines=True)[:MOST_TEXT]


def headline_of(message: str) -> str:
    """The first line of a message, as people are shown it."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return line[:200]


def signature_of(message: str) -> str:
    """The first line of a message with numbers, names, paths and addresses masked: for grouping."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line[:200]
