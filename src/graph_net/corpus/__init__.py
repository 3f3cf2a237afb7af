"""Graphs on disk, and queries on them."""

__all__: list[str] = []
