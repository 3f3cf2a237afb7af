"""The location of GraphNet's own graphs: in a checkout, or inside the package."""

from __future__ import annotations

import os
from pathlib import Path

from graph_net.corpus.mini import FILE, load_mini
from graph_net.corpus.pack import PackError, is_pack

VARIABLE = "GRAPH_NET_CORPUS"
DATA = "GRAPH_NET_DATA"
MINI = Path(__file__).parent / "mini_pack"
"""The mini selection as a pack, part of an installed package."""
MINI_ALONE = f"only the mini selection is installed; set ${DATA} to a checkout of GraphNet for all"


def shipped_data(name: str) -> Path:
    """Return a directory of the repository: in ``$GRAPH_NET_DATA``, or the checkout."""
    return Path(os.environ.get(DATA) or Path(__file__).parents[3]) / name


def shipped_corpus() -> Path:
    """Return the path of the whole corpus; ``$GRAPH_NET_CORPUS`` overrides it."""
    path = Path(os.environ.get(VARIABLE) or shipped_data("corpus"))
    if not path.is_dir() or not is_pack(path):
        raise PackError(
            f"no corpus at {path}; name a pack, or set ${DATA} to a checkout of GraphNet "
            f"(${VARIABLE} to the corpus itself)"
        )
    return path


def corpus_at_hand() -> Path:
    """Return the path of the whole corpus, or else of the package's mini selection."""
    try:
        return shipped_corpus()
    except PackError:
        if os.environ.get(VARIABLE) or os.environ.get(DATA) or not is_pack(MINI):
            raise  # a variable names a corpus that does not exist
        return MINI


def mini_names() -> list[str]:
    """List the names of the mini selection, alphabetically."""
    return [graph.name for graph in load_mini(corpus_at_hand() / FILE).graphs]
