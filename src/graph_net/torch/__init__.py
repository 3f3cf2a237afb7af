"""GraphNet's own commands and functions, for torch."""

from graph_net.torch.extractor import extract

__all__ = ["extract"]
