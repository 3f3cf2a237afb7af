"""Error messages made short, and masked so that equal failures look equal."""

from __future__ import annotations

import re

LONGEST = 2000
"""Letters of an exception's message."""
LONGEST_LIST = 20_000
"""Letters of a message that names every operator in the way of a compiler."""
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
    return printable("\n".join((text, *noted))[:LONGEST])


def text_of(error: BaseException) -> str:
    """An exception's own text, whatever its class does when it is asked for it."""
    try:
        text = str(error)
        return text[:LONGEST_LIST] if type(text) is str else str.__str__(text)[:LONGEST_LIST]
    except BaseException as second:
        return f"(its text cannot be had: {type(second).__name__})"


def printable(text: str) -> str:
    """A text of bounded length that can be stored and shown: no half characters, no controls."""
    if text.isascii() and text.isprintable():
        return text[:LONGEST_LIST]
    return "".join(map(_shown, text[:LONGEST_LIST]))[:LONGEST_LIST]


def _shown(letter: str) -> str:
    if letter in "\n\t" or letter.isprintable():
        return letter
    return letter.encode("unicode_escape").decode("ascii")


def signature_of(message: str) -> str:
    """The first line of a message with numbers, names, paths and addresses masked."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line[:200]
