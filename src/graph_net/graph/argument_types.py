"""Type checks of an operator's arguments against its schema, before the call.

``torch.ops`` takes an integer where a schema says ScalarType, and a kernel that trusts it crashes.
A schema is compiled once into one check per argument; a check is a single ``isinstance`` or
``type`` lookup in the common case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from graph_net.graph.errors import RefusedCall
from graph_net.graph.values import DTYPES, QUANTISED

Check = Callable[[Any], bool]

_NUMBERS = (int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)
_MAX_TEXT = 4096
_MAX_ITEMS = 65_536


def _is_int(value: Any) -> bool:
    if type(value) is int:
        return -(2**63) <= value < 2**63
    return isinstance(value, (bool, torch.SymInt))


def _is_float(value: Any) -> bool:
    return isinstance(value, (float, torch.SymFloat)) or _is_int(value)


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, torch.SymBool)) or value in (0, 1)


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return -(2**63) <= value < 2**64
    if isinstance(value, torch.Tensor):
        return value.dim() == 0  # torch reads a single element as a number
    return isinstance(value, _NUMBERS)


def _is_tensor(value: Any) -> bool:
    # torch wraps a number passed for a tensor; traced graphs contain such calls.
    return isinstance(value, torch.Tensor) or _is_number(value)


_DTYPES = frozenset(getattr(torch, name) for name in DTYPES - QUANTISED if hasattr(torch, name))
_CHECKS: dict[str, Check] = {
    "Tensor": _is_tensor,
    "int": _is_int,
    "float": _is_float,
    "bool": _is_bool,
    "number": _is_number,
    "str": lambda value: isinstance(value, str) and len(value) <= _MAX_TEXT,
    "ScalarType": lambda value: isinstance(value, torch.dtype) and value in _DTYPES,
    "Layout": lambda value: value is torch.strided,
    "MemoryFormat": lambda value: isinstance(value, torch.memory_format),
    "Device": lambda value: isinstance(value, torch.device),
    "Generator": lambda value: False,  # a graph has no way to name one
}


def _list_of(check: Check) -> Check:
    def holds(value: Any) -> bool:
        if not isinstance(value, (list, tuple)):
            return check(value)  # torch repeats a single number where a schema says int[2]
        return len(value) <= _MAX_ITEMS and all(
            check(item) or isinstance(item, fx.Node) for item in value
        )

    return holds


def _check_for(kind: str) -> Check:
    if kind.startswith("Optional["):
        check = _check_for(kind[9:-1])
        return lambda value: value is None or check(value)
    if kind.startswith("List["):
        return _list_of(_check_for(kind[5:-1]))
    # A type of another library: that library's own list vouches for it.
    return _CHECKS.get(kind, lambda value: True)


@lru_cache(maxsize=8192)
def _compile_schema(overload: OpOverload) -> tuple[tuple[tuple[str, Check], ...], dict[str, Check]]:
    """Return the checks of the positional arguments in order, and of all arguments by name."""
    arguments = overload._schema.arguments
    pairs = [(argument.name, _check_for(str(argument.real_type))) for argument in arguments]
    positional = [pair for pair, a in zip(pairs, arguments, strict=True) if not a.kwarg_only]
    return tuple(positional), dict(pairs)


def check_arguments(overload: OpOverload, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise RefusedCall unless each argument has the type of the schema.

    An ``fx.Node`` stands for a value that is not known yet and passes.
    """
    positional, named = _compile_schema(overload)
    for (name, check), value in zip(positional, args, strict=False):
        if not check(value) and not isinstance(value, fx.Node):
            raise _refusal(overload, name, value)
    for name, value in kwargs.items():
        keyword_check = named.get(name)
        if keyword_check and not keyword_check(value) and not isinstance(value, fx.Node):
            raise _refusal(overload, name, value)


def _refusal(overload: OpOverload, name: str, value: Any) -> RefusedCall:
    kind = next(str(a.real_type) for a in overload._schema.arguments if a.name == name)
    return RefusedCall(
        f"{overload} takes {kind} as {name!r}, not {repr(value)[:60]} ({type(value).__name__})"
    )
