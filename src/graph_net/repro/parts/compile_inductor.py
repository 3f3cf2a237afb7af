"""inductor: torch.compile."""

from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo
import torch._inductor


def compiled(
    model: torch.nn.Module, inputs: list[Any], options: dict[str, Any]
) -> Callable[..., Any]:
    torch._dynamo.config.capture_scalar_outputs = True
    torch._dynamo.config.allow_rnn = True
    given = {key.replace("-", "_"): value for key, value in options.items() if key != "mode"}
    settings = {**torch._inductor.list_mode_options(options["mode"]), **given}
    return torch.compile(model.forward, fullgraph=True, dynamic=False, options=settings)
