"""The front door GraphNet's users know for Paddle models. Importing it does not import Paddle."""

from graph_net.graph.paddle_execute import run
from graph_net.paddle.extractor import extract

__all__ = ["extract", "run"]
