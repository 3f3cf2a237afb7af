"""Dynamo's counters: graphs, the breaks between them, and the reasons for the breaks.

The counters belong to the process and only grow, so a compilation is their difference.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from graph_net.results import Json
from graph_net.results.graph_breaks import BREAKS, GRAPHS, NOT_COMPILED, REASONS

MOST_REASONS = 8
MOST_TEXT = 200
"""Characters of one reason."""


def compilations() -> int:
    """Count the frames and graphs that Dynamo has compiled in this process.

    A frame without tensor operations gives no graph but is compiled too.
    """
    return _counter("stats")["unique_graphs"] + _counter("frames")["total"]


@dataclass(frozen=True)
class DynamoPieces:
    """A function as Dynamo compiled it: graphs, and Python between them where it broke."""

    graphs: int
    breaks: Counter[str]

    @property
    def remarks(self) -> dict[str, Json]:
        """Remarks for the record."""
        notes: dict[str, Json] = {GRAPHS: self.graphs, BREAKS: self.breaks.total()}
        if self.breaks:
            notes[REASONS] = [*_reasons(self.breaks)]
        if not self.graphs:
            notes[NOT_COMPILED] = "Dynamo compiled no operator of this graph: all of it ran eagerly"
        return notes


@dataclass(frozen=True)
class DynamoWatch:
    """A snapshot of the counters; ``pieces`` is what was compiled since."""

    _graphs: int = field(default_factory=lambda: _counter("stats")["unique_graphs"])
    _skipped: int = field(default_factory=lambda: _skipped_frames())
    _breaks: Counter[str] = field(default_factory=lambda: _counter("graph_break"))
    _refused: Counter[str] = field(default_factory=lambda: _counter("unimplemented"))

    def pieces(self) -> DynamoPieces:
        """Return what was compiled since this was created, and every break.

        If Dynamo cannot resume after a break it leaves the whole frame to Python, and counts the
        reason elsewhere.
        """
        breaks = _counter("graph_break") - self._breaks
        if _skipped_frames() > self._skipped:
            breaks += _counter("unimplemented") - self._refused
        return DynamoPieces(_counter("stats")["unique_graphs"] - self._graphs, breaks)


def _skipped_frames() -> int:
    frames = _counter("frames")
    return frames["total"] - frames["ok"]


def _counter(category: str) -> Counter[str]:
    """Return a copy of one of Dynamo's counters, empty if Dynamo was never imported."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    return Counter() if utils is None else Counter(utils.counters[category])


def _reasons(breaks: Counter[str]) -> list[str]:
    """Return one line per reason, the most frequent first, capped for the record."""
    lines = Counter[str]()
    for message, times in breaks.items():
        lines[_line(message)] += times
    listed = [f"{times} × {line}" for line, times in lines.most_common(MOST_REASONS)]
    more = len(lines) - len(listed)
    return [*listed, *([f"{more} more reasons"] if more else [])]


def _line(message: str) -> str:
    """Return the kind of a break and its subject, from the page that Dynamo prints."""
    kind, _, rest = message.strip().partition("\n")
    about = re.search(r"Developer debug context: (.*)", rest)
    text = f"{kind} ({about[1].strip()})" if about and about[1].strip() else kind
    text = re.sub(r" at 0x[0-9a-f]+", "", text)  # an address changes every time
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"
