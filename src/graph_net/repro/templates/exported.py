"""The graph for compilers that take pure functions of tensors."""

import warnings
from typing import Any

import torch

from graph_net.repro.templates.common import flat, tensors


class Pure(torch.nn.Module):
    """Tensors in, tensors out; numbers among the inputs are constants."""

    def __init__(self, model: torch.nn.Module, inputs: list[Any]) -> None:
        super().__init__()
        self.model = model
        self.fixed = [None if isinstance(value, torch.Tensor) else value for value in inputs]

    def forward(self, *arguments: torch.Tensor) -> list[torch.Tensor]:
        remaining = iter(arguments)
        return tensors(flat(self.model(*(next(remaining) if v is None else v for v in self.fixed))))


def exported(model: torch.nn.Module, inputs: list[Any]) -> torch.export.ExportedProgram:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        return torch.export.export(Pure(model, inputs), tuple(tensors(inputs)), strict=False)
