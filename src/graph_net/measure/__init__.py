"""Measuring: isolation, timing, correctness; runs with torch, numpy and the standard library."""

from graph_net.measure.protocol import MeasureLimits, Protocol
from graph_net.measure.runner import measure
from graph_net.measure.task import Measurement

__all__ = ["MeasureLimits", "Measurement", "Protocol", "measure"]
