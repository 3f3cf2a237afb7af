"""Error messages shortened, and masked so that equal failures look equal."""

from __future__ import annotations

import re

from graph_net.isolate.messages import MOST_TEXT, text_of
from graph_net.printable import printable

LONGEST = 2000
"""The most characters of an exception's message."""
_MASKS = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x…"),
    (re.compile(r"(/[\w.+\-]+)+/([\w.+\-]+)"), r"…/\2"),
    (re.compile(r"'[^'\n]*'|\"[^\"\n]*\""), "'…'"),
    (re.compile(r"\b\d+(\.\d+)?(e[-+]?\d+)?\b"), "#"),
    (re.compile(r"\b[0-9a-f]{12,}\b"), "…"),
)


def message_of(error: BaseException) -> str:
    """Return an exception's class, message and notes."""
    notes = getattr(error, "__notes__", None)
    texts = [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []
    text = f"{type(error).__name__}: {text_of(error)}".strip()
    return clean_text("\n".join((text, *texts))[:LONGEST])


def clean_text(text: str) -> str:
    """Return a text that can be stored and shown: bounded, no surrogates, no controls."""
    return printable(text[:MOST_TEXT], lines=True)[:MOST_TEXT]


def headline_of(message: str) -> str:
    """Return the first line of a message, for display."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return line[:200]


def signature_of(message: str) -> str:
    """Return the first line of a message with numbers, names and paths masked, for grouping."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line[:200]
