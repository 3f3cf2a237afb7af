"""Few graphs whose score predicts that of many, with the expected error."""

from graph_net.coreset.choose import choose
from graph_net.coreset.errors import METHODS, ExpectedError, MeasuredGraphs, expected_errors
from graph_net.coreset.features import Relevance, features_of, learn, values_of
from graph_net.coreset.markov import Transitions, count_transitions, cover
from graph_net.coreset.select import select_graphs

__all__ = [
    "METHODS",
    "ExpectedError",
    "MeasuredGraphs",
    "Relevance",
    "Transitions",
    "choose",
    "count_transitions",
    "cover",
    "expected_errors",
    "features_of",
    "learn",
    "select_graphs",
    "values_of",
]
