"""The networks to take tasks from: a named set, a pack, or a part of either."""

from __future__ import annotations

from pathlib import Path

from graph_net.corpus.pack import Pack
from graph_net.corpus.shipped import shipped_corpus

TENSET = "networks"
"""Directory of the shipped corpus with TenSet's 120 networks (``graph-net collect``)."""


def networks(named: str) -> Pack:
    """Return the pack that ``tenset``, ``corpus`` or a path names."""
    if named == "tenset":
        return Pack(shipped_corpus() / TENSET)
    return Pack(shipped_corpus() if named == "corpus" else Path(named))
