"""GraphNet's sample directories, in and out."""

from graph_net.formats.graphnet.read import find_samples, read_sample

__all__ = ["find_samples", "read_sample"]
