"""The front doors that GraphNet's users know, for torch."""

from graph_net.torch.extractor import extract

__all__ = ["extract"]
