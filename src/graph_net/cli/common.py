"""What the verbs share: the two consoles, and how a graph is named."""

from __future__ import annotations

from graph_net.display.terminal import err as err
from graph_net.display.terminal import out as out

GRAPH_HELP = (
    "A sample directory, a pack with the name (or id) of a graph (PACK:NAME), a name in the "
    "shipped corpus, or a graph's file (.json, .bin)."
)
