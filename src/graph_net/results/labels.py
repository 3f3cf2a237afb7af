"""Names of compilers for display."""

from __future__ import annotations

from pathlib import PurePath


def short_name(name: str) -> str:
    """Return a compiler's name without the folders of a user's own file: ``mine.py:Traced``."""
    file, colon, attribute = name.partition(":")
    return f"{PurePath(file).name}{colon}{attribute}" if file.endswith(".py") else name
