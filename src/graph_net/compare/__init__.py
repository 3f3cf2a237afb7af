"""Two runs, compilers or versions compared graph by graph."""

from graph_net.compare.judge import Change, Judged, Reason, Settings
from graph_net.compare.result import Comparison, Spread, compare
from graph_net.compare.rows import Row

__all__ = ["Change", "Comparison", "Judged", "Reason", "Row", "Settings", "Spread", "compare"]
