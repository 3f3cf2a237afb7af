"""Scores of records and logs: S(t), ES(t), their intervals, the control, and a ranking."""

from graph_net.score.aggregate import graphnet_aggregate, passbench_aggregate
from graph_net.score.confidence import Estimate, estimate
from graph_net.score.faults import (
    DEFAULT,
    INTERPRETATIONS,
    MISMATCH_EXTENDED,
    PAPER,
    Fault,
    Interpretation,
    find_interpretation,
)
from graph_net.score.load import load
from graph_net.score.ranking import Pair, Ranking, rank
from graph_net.score.samples import (
    ScoredGraph,
    ScoredGraphs,
    Speedup,
    columns,
    control_of,
    sample_of,
)
from graph_net.score.scoreboard import Scoreboard, score_sources
from graph_net.score.scores import LADDER, Curves, Parameters, combine, score
from graph_net.score.sentence import sentence

__all__ = [
    "DEFAULT",
    "INTERPRETATIONS",
    "LADDER",
    "MISMATCH_EXTENDED",
    "PAPER",
    "Curves",
    "Estimate",
    "Fault",
    "Interpretation",
    "Pair",
    "Parameters",
    "Ranking",
    "Scoreboard",
    "ScoredGraph",
    "ScoredGraphs",
    "Speedup",
    "columns",
    "combine",
    "control_of",
    "estimate",
    "find_interpretation",
    "graphnet_aggregate",
    "load",
    "passbench_aggregate",
    "rank",
    "sample_of",
    "score",
    "score_sources",
    "sentence",
]
