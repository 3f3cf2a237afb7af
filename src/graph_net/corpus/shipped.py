"""Where the graphs that come with GraphNet are: beside a checkout, or inside the package."""

from __future__ import annotations

import os
from pathlib import Path

from graph_net.corpus.mini import FILE, load
from graph_net.corpus.pack import PackError, is_pack

VARIABLE = "GRAPH_NET_CORPUS"
DATA = "GRAPH_NET_DATA"
MINI = Path(__file__).parent / "mini_pack"
"""The mini selection as a pack of its own, which an installed package has."""
MINI_ALONE = f"only the mini selection is installed; set ${DATA} to a checkout of GraphNet for all"


def shipped_data(name: str) -> Path:
    """Return where a directory of the repository is: in ``$GRAPH_NET_DATA``, or the checkout."""
    return Path(os.environ.get(DATA) or Path(__file__).parents[3]) / name


def shipped_corpus() -> Path:
    """Return where the whole corpus is; ``$GRAPH_NET_CORPUS`` names it alone."""
    place = Path(os.environ.get(VARIABLE) or shipped_data("corpus"))
    if not place.is_dir() or not is_pack(place):
        raise PackError(
            f"no corpus at {place}; name a pack, or set ${DATA} to a checkout of GraphNet "
            f"(${VARIABLE} to the corpus itself)"
        )
    return place


def corpus_at_hand() -> Path:
    """Return the whole corpus, or the mini selection of the package where there is no other."""
    try:
        return shipped_corpus()
    except PackError:
        if os.environ.get(VARIABLE) or os.environ.get(DATA) or not is_pack(MINI):
            raise  # it was named, and is not there
        return MINI


def mini_names() -> list[str]:
    """Return the names of the mini selection, in alphabetic order."""
    return [graph.name for graph in load(corpus_at_hand() / FILE).graphs]
