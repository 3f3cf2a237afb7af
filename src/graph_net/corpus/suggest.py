"""Suggestions of similar names, for errors about an unknown one."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

MOST = 20_000
"""The most names to compare; more would take seconds."""


def near_names(name: str, names: Sequence[str], count: int = 3) -> list[str]:
    """Return the most similar names: those with the same last part first."""
    compared = names[:MOST]
    same = [other for other in compared if _last(other) == _last(name)]
    close = get_close_matches(name, compared, n=count, cutoff=0.4)
    return list(dict.fromkeys([*same, *close]))[:count]


def suggest(name: str, names: Sequence[str]) -> str:
    """Return the end of a sentence about an unknown name."""
    near = near_names(name, names)
    if near:
        return f"did you mean {', '.join(near)}?"
    return f"it has {', '.join(names[:3])}{' …' if len(names) > 3 else ''}"


def _last(name: str) -> str:
    return name.rpartition("/")[2].lower()
