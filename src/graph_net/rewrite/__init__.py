"""Rewrites: a graph in, graphs out."""

__all__: list[str] = []
