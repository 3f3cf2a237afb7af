"""The smallest subgraph that still shows what a compiler does wrong."""

from graph_net.bisect.clusters import Cluster, clustered
from graph_net.bisect.problem import LEVEL, Problem, Shown, shown
from graph_net.bisect.search import BisectError, Settings, Witness, bisect, trials
from graph_net.bisect.stored import stored

__all__ = [
    "LEVEL",
    "BisectError",
    "Cluster",
    "Problem",
    "Settings",
    "Shown",
    "Witness",
    "bisect",
    "clustered",
    "shown",
    "stored",
    "trials",
]
