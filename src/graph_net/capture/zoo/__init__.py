"""Model zoos: one file per library, found by name or by entry point."""

from graph_net.capture.zoo.registry import ZooError, available, load
from graph_net.capture.zoo.zoo import CATEGORIES, Call, Zoo, ZooEntry

__all__ = ["CATEGORIES", "Call", "Zoo", "ZooEntry", "ZooError", "available", "load"]
