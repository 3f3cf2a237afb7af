"""What Dynamo counts as it compiles: graphs, the breaks between them, and why it broke.

Dynamo's counters belong to the process and only grow, so a compilation is what they grew by.
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
    """How many frames and graphs Dynamo has compiled in this process.

    A frame that holds no tensor operation gives no graph and is compiled all the same.
    """
    return _counted("stats")["unique_graphs"] + _counted("frames")["total"]


@dataclass(frozen=True)
class DynamoPieces:
    """A function as Dynamo took it: compiled graphs, and Python between them where it broke."""

    graphs: int
    breaks: Counter[str]

    @property
    def remarks(self) -> dict[str, Json]:
        """What the record says of it."""
        found: dict[str, Json] = {GRAPHS: self.graphs, BREAKS: self.breaks.total()}
        if self.breaks:
            found[REASONS] = [*_reasons(self.breaks)]
        if not self.graphs:
            found[NOT_COMPILED] = "Dynamo compiled no operator of this graph: all of it ran eagerly"
        return found


@dataclass(frozen=True)
class Watch:
    """The counters as they were; ``pieces`` is what was compiled since."""

    _graphs: int = field(default_factory=lambda: _counted("stats")["unique_graphs"])
    _skipped: int = field(default_factory=lambda: _skipped_frames())
    _breaks: Counter[str] = field(default_factory=lambda: _counted("graph_break"))
    _refused: Counter[str] = field(default_factory=lambda: _counted("unimplemented"))

    def pieces(self) -> DynamoPieces:
        """What was compiled since this was made, and every break on the way.

        Where Dynamo cannot resume after a break it leaves the whole frame to Python, and counts
        the reason elsewhere.
        """
        breaks = _counted("graph_break") - self._breaks
        if _skipped_frames() > self._skipped:
            breaks += _counted("unimplemented") - self._refused
        return DynamoPieces(_counted("stats")["unique_graphs"] - self._graphs, breaks)


def _skipped_frames() -> int:
    frames = _counted("frames")
    return frames["total"] - frames["ok"]


def _counted(category: str) -> Counter[str]:
    """A copy of one of Dynamo's counters; an empty one where Dynamo was never imported."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    return Counter() if utils is None else Counter(utils.counters[category])


def _reasons(breaks: Counter[str]) -> list[str]:
    """One line for each reason, the most frequent first, no more than a record can bear."""
    lines = Counter[str]()
    for message, times in breaks.items():
        lines[_line(message)] += times
    found = [f"{times} × {line}" for line, times in lines.most_common(MOST_REASONS)]
    more = len(lines) - len(found)
    return [*found, *([f"{more} more reasons"] if more else [])]


def _line(message: str) -> str:
    """The kind of a break and what it was about, of the page that Dynamo prints."""
    kind, _, rest = message.strip().partition("\n")
    about = re.search(r"Developer debug context: (.*)", rest)
    text = f"{kind} ({about[1].strip()})" if about and about[1].strip() else kind
    text = re.sub(r" at 0x[0-9a-f]+", "", text)  # an address says nothing, and changes
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"
