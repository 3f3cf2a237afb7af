"""Configurations of whole graphs: layouts and tiles, as TpuGraphs has them."""
