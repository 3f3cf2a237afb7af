"""eager: no compiler at all."""

from collections.abc import Callable
from typing import Any

import torch


def compiled(
    model: torch.nn.Module, inputs: list[Any], options: dict[str, Any]
) -> Callable[..., Any]:
    return model.forward
