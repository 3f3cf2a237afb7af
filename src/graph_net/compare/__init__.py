"""Compare two runs, compilers or versions graph by graph."""

from graph_net.compare.judge import Change, CompareSettings, JudgedPairs, Reason
from graph_net.compare.result import Comparison, Spread, compare
from graph_net.compare.rows import Row

__all__ = [
    "Change",
    "CompareSettings",
    "Comparison",
    "JudgedPairs",
    "Reason",
    "Row",
    "Spread",
    "compare",
]
