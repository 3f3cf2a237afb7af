"""Inputs and sizes as they are written on a command line: ``x=float32[2,3]``, ``batch=x.0``."""

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
class OwnInput:
    """A tensor by dtype and sizes, or a number that becomes part of the graph."""

    name: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    below: int = 2
    """Whole numbers are drawn from 0 up to this one, which is not among them."""
    scalar: Any = None

    def value(self) -> Any:
        """A value to capture with."""
        if not self.dtype:
            return self.scalar
        dtype = torch_dtype(self.dtype)
        if dtype.is_floating_point or dtype.is_complex:
            return torch.randn(self.shape, dtype=torch.float32).to(dtype)
        return torch.randint(0, self.below, self.shape).to(dtype)


@dataclass(frozen=True, slots=True)
class OwnSize:
    """A size with a name: which dimensions of which inputs it is, and between which numbers."""

    name: str
    places: tuple[tuple[str, int], ...]
    low: int | None = None
    high: int | None = None


def parse_input(text: str) -> OwnInput:
    """``x=float32[2,3]``; ``ids=int64[1,128]:30522`` draws below 30522; ``scale=0.5``."""
    tensor, scalar = _INPUT.fullmatch(text.strip()), _SCALAR.fullmatch(text.strip())
    if scalar is not None:
        return OwnInput(scalar[1] or "", scalar=json.loads(scalar[2]))
    if tensor is None:
        raise GraphError(f"{text!r} is no input; write x=float32[2,3,224,224]")
    torch_dtype(tensor[2])
    shape = tuple(int(size) for size in tensor[3].split(",") if size.strip())
    return OwnInput(tensor[1] or "", tensor[2], shape, int(tensor[4] or 2))


def parse_dynamic(text: str) -> OwnSize:
    """``batch=x.0,y.0``, or ``batch:2..64=x.0`` where it has bounds."""
    found = _DYNAMIC.fullmatch(text.replace(" ", ""))
    if found is None:
        raise GraphError(f"{text!r} is no dynamic size; write batch=x.0 or batch:2..64=x.0,y.0")
    places = [place.split(".") for place in found[4].split(",")]
    bounds = [None if bound is None else int(bound) for bound in (found[2], found[3])]
    return OwnSize(found[1], tuple((name, int(dim)) for name, dim in places), *bounds)


def dynamic_shapes(
    forward: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    sizes: Sequence[OwnSize],
) -> dict[str, Any]:
    """The sizes in torch.export's own words: for each argument, its dimensions."""
    given = inspect.signature(forward).bind(*args, **kwargs).arguments
    found: dict[str, dict[int, Dim]] = {}
    for size in sizes:
        named = Dim(size.name, min=size.low, max=size.high)
        for name, dim in size.places:
            _require_dimension(given, name, dim)
            found.setdefault(name, {})[dim] = named
    return {name: found.get(name) for name in given}


def _require_dimension(given: Mapping[str, Any], name: str, dim: int) -> None:
    if name not in given:
        raise GraphError(f"there is no input {name!r}; there are {', '.join(given)}")
    tensor = given[name]
    if not isinstance(tensor, torch.Tensor) or dim >= tensor.dim():
        raise GraphError(f"input {name!r} has no dimension {dim}")
