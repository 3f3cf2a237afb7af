"""Parse inputs and sizes of the command line: ``x=float32[2,3]``, ``batch=x.0``."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim

from graph_net.graph.errors import GraphError
from graph_net.graph.runtime import torch_dtype

_INPUT = re.compile(r"(?:(\w+)=)?(\w+)\[([\d,\s]*)\](?::(\d+))?")
_SCALAR = re.compile(r"(?:(\w+)=)?(-?[\d.]+(?:e-?\d+)?|true|false|null)")
_DYNAMIC = re.compile(r"(\w+)(?::(\d+)\.\.(\d+))?=(\w+\.\d+(?:,\w+\.\d+)*)")


@dataclass(frozen=True, slots=True)
class UserInput:
    """A tensor by dtype and sizes, or a number that becomes part of the graph."""

    name: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    below: int = 2
    """Integers are drawn from 0 up to, but not including, this."""
    scalar: Any = None

    def value(self) -> Any:
        """Return a value to capture with."""
        if not self.dtype:
            return self.scalar
        dtype = torch_dtype(self.dtype)
        if dtype.is_floating_point or dtype.is_complex:
            return torch.randn(self.shape, dtype=torch.float32).to(dtype)
        return torch.randint(0, self.below, self.shape).to(dtype)


@dataclass(frozen=True, slots=True)
class UserSize:
    """A named size: the dimensions of the inputs that have it, and its bounds."""

    name: str
    dimensions: tuple[tuple[str, int], ...]
    low: int | None = None
    high: int | None = None


def parse_input(text: str) -> UserInput:
    """Parse ``x=float32[2,3]``, ``scale=0.5``, or ``ids=int64[1,128]:30522`` (drawn below it)."""
    tensor, scalar = _INPUT.fullmatch(text.strip()), _SCALAR.fullmatch(text.strip())
    if scalar is not None:
        return UserInput(scalar[1] or "", scalar=json.loads(scalar[2]))
    if tensor is None:
        raise GraphError(f"{text!r} is not an input; write x=float32[2,3,224,224]")
    torch_dtype(tensor[2])
    shape = tuple(int(size) for size in tensor[3].split(",") if size.strip())
    return UserInput(tensor[1] or "", tensor[2], shape, int(tensor[4] or 2))


def parse_dynamic(text: str) -> UserSize:
    """Parse ``batch=x.0,y.0``, or ``batch:2..64=x.0`` with bounds."""
    match = _DYNAMIC.fullmatch(text.replace(" ", ""))
    if match is None:
        raise GraphError(f"{text!r} is not a dynamic size; write batch=x.0 or batch:2..64=x.0,y.0")
    dimensions = [dimension.split(".") for dimension in match[4].split(",")]
    bounds = [None if bound is None else int(bound) for bound in (match[2], match[3])]
    return UserSize(match[1], tuple((name, int(dim)) for name, dim in dimensions), *bounds)


def dynamic_shapes(
    forward: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    sizes: Sequence[UserSize],
) -> dict[str, Any]:
    """Return the sizes as torch.export takes them: for each argument, its dimensions."""
    arguments = inspect.signature(forward).bind(*args, **kwargs).arguments
    dims: dict[str, dict[int, Dim]] = {}
    for size in sizes:
        named = Dim(size.name, min=size.low, max=size.high)
        for name, dim in size.dimensions:
            _require_dimension(arguments, name, dim)
            dims.setdefault(name, {})[dim] = named
    return {name: dims.get(name) for name in arguments}


def _require_dimension(arguments: Mapping[str, Any], name: str, dim: int) -> None:
    if name not in arguments:
        raise GraphError(f"the model has no input {name!r}; it has {', '.join(arguments)}")
    tensor = arguments[name]
    if not isinstance(tensor, torch.Tensor) or dim >= tensor.dim():
        raise GraphError(f"input {name!r} has no dimension {dim}")
