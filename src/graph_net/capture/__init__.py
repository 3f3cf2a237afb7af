"""A model in, Graphs out."""

from graph_net.capture.capture import Captured, capture
from graph_net.capture.own import capture_own

__all__ = ["Captured", "capture", "capture_own"]
