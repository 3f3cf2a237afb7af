"""GraphNet's functions for Paddle models. Importing this does not import Paddle."""

from graph_net.graph.paddle_execute import run
from graph_net.paddle.extractor import extract

__all__ = ["extract", "run"]
