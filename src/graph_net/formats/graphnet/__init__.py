"""GraphNet's sample directories, read and written."""

from graph_net.formats.graphnet.read import find_samples, read_sample

__all__ = ["find_samples", "read_sample"]
