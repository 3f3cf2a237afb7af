"""Untrusted text, numbers and errors in printable form."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

_BYTES = range(0xDC80, 0xDD00)
"""The surrogates by which Python represents bytes of a file's name that are not UTF-8."""


def first_line(error: BaseException, most: int = 200) -> str:
    """Return the first line of an error's message, or its type if the message is empty."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:most]


def error_line(error: BaseException, most: int = 200) -> str:
    """Return an error's type and the first line of its message: ``TypeError: not a tensor``."""
    kind = type(error).__name__
    return f"{kind}: {first_line(error, most)}" if str(error).strip() else kind


def printable(text: str, lines: bool = False) -> str:
    """Return the text with invisible characters escaped: ``\\x1b``, ``\\n``, ``\\u202e``.

    These are control characters, characters that reorder or hide text, and lone surrogates. With
    ``lines``, line breaks and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(char if _is_visible(char, lines) else _escape(char) for char in text)


def count_phrase(number: int, noun: str, many: str = "") -> str:
    """Return a count with its noun: ``1 graph``, ``4,228 graphs``."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def short_count(number: float) -> str:
    """Return a count with a unit: 11.7 M."""
    for unit in ("", " k", " M", " G", " T"):
        if abs(number) < 1000:
            return f"{number:.0f}{unit}" if unit == "" else f"{number:.1f}{unit}"
        number /= 1000
    return f"{number:.1f} P"


def short_bytes(number: float) -> str:
    """Return a size with a unit: 44.7 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(number) < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def is_utf8(name: str) -> bool:
    """Return whether a file's name was UTF-8 on disk, so that it can be stored and sent."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def utf8_name(name: str) -> str:
    """Return the name if it is UTF-8, else an escaped form that a record can hold."""
    return name if is_utf8(name) else printable(name)


def _is_visible(char: str, lines: bool) -> bool:
    if lines and char in "\n\t":
        return True
    return char.isprintable() or unicodedata.category(char) == "Zs"


def _escape(char: str) -> str:
    if ord(char) in _BYTES:
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def html_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], more: int = 0
) -> str:
    """Return an HTML table for a notebook; all text is escaped, as names are untrusted."""
    head = "".join(f"<th>{_html(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_html(cell)}</td>' for cell in row)}</tr>" for row in rows)
    rest = f'<tr><td colspan="{len(columns)}">… {more:,} more</td></tr>' if more > 0 else ""
    return (
        f"<table><caption>{_html(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}{rest}</tbody></table>"
    )


def _html(text: str) -> str:
    return escape(printable(text))
