"""inductor: torch.compile."""

from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo
import torch._inductor


def compiled(
    model: torch.nn.Module, inputs: list[Any], options: dict[str, Any]
) -> Callable[..., Any]:
    whole = options["fullgraph"]
    if whole:
        torch._dynamo.config.capture_scalar_outputs = True
        torch._dynamo.config.allow_rnn = True
    own = ("mode", "fullgraph")
    passed = {key.replace("-", "_"): value for key, value in options.items() if key not in own}
    settings = {**torch._inductor.list_mode_options(options["mode"]), **passed}
    return torch.compile(
        model.forward, fullgraph=whole, dynamic=False if whole else None, options=settings
    )
