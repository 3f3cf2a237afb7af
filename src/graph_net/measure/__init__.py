"""Measuring: isolation, timing, correctness; runs with torch, numpy and the standard library."""

from graph_net.measure.protocol import Limits, Protocol
from graph_net.measure.runner import measure
from graph_net.measure.task import Task

__all__ = ["Limits", "Protocol", "Task", "measure"]
