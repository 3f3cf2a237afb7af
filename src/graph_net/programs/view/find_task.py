"""Find the task that a word names."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from graph_net.programs.formats import ReadError

if TYPE_CHECKING:
    from graph_net.store.sql import Sql

SHOWN = 4
LOOKED_AT = 20_000
"""How many names are searched for similar ones."""
Known = tuple[str, str, str, str]
"""Task, workload, kernel, device."""


def find_task(connection: Sql, word: str) -> str:
    """Return the task with this hash, workload or kernel, or the only one with this prefix."""
    rows: list[Known] = connection.execute(
        "SELECT DISTINCT task, workload, kernel, device_name FROM programs ORDER BY ALL"
    ).fetchall()
    for chosen in (
        [row for row in rows if row[0] == word],
        [row for row in rows if row[1] == word],
        [row for row in rows if row[2] == word],
        [row for row in rows if word and any(part.startswith(word) for part in row[:3])],
    ):
        if len(chosen) == 1:
            return chosen[0][0]
        if chosen:
            raise ReadError(f"{word!r} stands for {len(chosen)} tasks: {_listed(chosen)}")
    raise ReadError(f"no task {word!r}; {_near(word, rows)}")


def _listed(rows: list[Known]) -> str:
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return ", ".join(map(_said, rows[:SHOWN])) + more


def _said(row: Known) -> str:
    task, workload, kernel, device = row
    where = f" on {device}" if device else ""
    return f"{task[:12]} ({(kernel or workload)[:60]}{where})"


def _near(word: str, rows: list[Known]) -> str:
    kernels = list(dict.fromkeys(row[2] for row in rows[:LOOKED_AT] if row[2]))
    inside = [kernel for kernel in kernels if word and word.lower() in kernel.lower()]
    close = inside[:SHOWN] or get_close_matches(word, kernels, n=SHOWN, cutoff=0.4)
    if close:
        return f"did you mean {', '.join(close)}?"
    return f"it has {_listed(rows)}"
