"""A model in, Graphs out."""

from graph_net.capture.capture import Captured, capture

__all__ = ["Captured", "capture"]
