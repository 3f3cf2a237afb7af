"""Configurations of whole graphs: layouts and tiles, as in TpuGraphs."""
