"""Model zoos: one file a library, found by name or by entry point."""

from graph_net.capture.zoo.registry import available, load
from graph_net.capture.zoo.zoo import CATEGORIES, Call, Entry, Zoo

__all__ = ["CATEGORIES", "Call", "Entry", "Zoo", "available", "load"]
