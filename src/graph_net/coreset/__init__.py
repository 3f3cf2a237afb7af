"""Few graphs whose score tells the score of many, and how wrong it is likely to be."""

from graph_net.coreset.choose import choose
from graph_net.coreset.errors import METHODS, Expected, MeasuredGraphs, expected_errors
from graph_net.coreset.features import Relevance, features, learn, values_of
from graph_net.coreset.markov import Transitions, cover, transitions
from graph_net.coreset.select import select_graphs

__all__ = [
    "METHODS",
    "Expected",
    "MeasuredGraphs",
    "Relevance",
    "Transitions",
    "choose",
    "cover",
    "expected_errors",
    "features",
    "learn",
    "select_graphs",
    "transitions",
    "values_of",
]
