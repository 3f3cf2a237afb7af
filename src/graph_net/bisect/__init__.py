"""Bisection: the smallest subgraph that still shows a compiler's defect."""

from graph_net.bisect.clusters import WitnessCluster, cluster_witnesses
from graph_net.bisect.problem import LEVEL, Defect, Problem, find_defect
from graph_net.bisect.search import BisectError, BisectSettings, Witness, bisect, trials
from graph_net.bisect.witness_file import write_witness

__all__ = [
    "LEVEL",
    "BisectError",
    "BisectSettings",
    "Defect",
    "Problem",
    "Witness",
    "WitnessCluster",
    "bisect",
    "cluster_witnesses",
    "find_defect",
    "trials",
    "write_witness",
]
