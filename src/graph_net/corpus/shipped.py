"""The corpus that comes with the repository."""

from __future__ import annotations

import os
from pathlib import Path

from graph_net.corpus.pack import PackError, is_pack

VARIABLE = "GRAPH_NET_CORPUS"


def shipped_corpus() -> Path:
    """Where the corpus is: ``$GRAPH_NET_CORPUS``, or ``corpus/`` of the checkout this runs from."""
    place = Path(os.environ.get(VARIABLE) or Path(__file__).parents[3] / "corpus")
    if not place.is_dir() or not is_pack(place):
        raise PackError(f"no corpus at {place}; name a pack, or set ${VARIABLE}")
    return place


def mini() -> list[str]:
    """The names of the small selection that covers the corpus, in alphabetic order."""
    from graph_net.corpus.mini import FILE, load

    return [graph.name for graph in load(shipped_corpus() / FILE).graphs]
