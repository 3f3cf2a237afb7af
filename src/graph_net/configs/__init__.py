"""Configurations of whole graphs: layouts and tiles, as in TpuGraphs."""

__all__: list[str] = []
