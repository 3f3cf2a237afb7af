"""Capture: a model in, its graphs out."""

from graph_net.capture.capture import Captured, capture
from graph_net.capture.user_model import capture_user_model

__all__ = ["Captured", "capture", "capture_user_model"]
