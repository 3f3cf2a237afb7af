"""Rooflines: the least time a machine needs for a graph, and the headroom above it."""

__all__: list[str] = []
