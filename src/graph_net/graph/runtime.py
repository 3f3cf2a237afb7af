"""Conversion of graph values and specs to torch objects and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from graph_net.graph.devices import makes_tensor
from graph_net.graph.errors import GraphError, RefusedCall
from graph_net.graph.expr import Dim, Expr
from graph_net.graph.graph import Node, Symbol
from graph_net.graph.spec import Result, ScalarSpec, TensorSpec
from graph_net.graph.values import (
    DTYPES,
    LAYOUTS_REFUSED,
    QUANTISED,
    TORCH_CONSTANTS,
    DictValue,
    Dtype,
    ListValue,
    Ref,
    RunDevice,
    Slice,
    TorchConstant,
    Value,
    plain_float,
)

_DTYPE_NAMES = {getattr(torch, name): name for name in DTYPES if hasattr(torch, name)}
_CONSTANT_NAMES = {getattr(torch, n): n for n in TORCH_CONSTANTS if hasattr(torch, n)}

_REFUSED = LAYOUTS_REFUSED | QUANTISED


def torch_dtype(name: str) -> torch.dtype:
    """Return the dtype with this name."""
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise GraphError(f"torch {torch.__version__} has no dtype {name!r}", field="dtype")
    return dtype


def dtype_name(dtype: torch.dtype) -> str:
    """Return the name of a dtype."""
    if dtype not in _DTYPE_NAMES:
        raise GraphError(f"dtype {dtype} cannot be stored", field="dtype")
    return _DTYPE_NAMES[dtype]


def to_python(value: Value, ref: Callable[[str], Any], device: torch.device) -> Any:
    """Return a value as the object torch expects, references looked up with ``ref``."""
    if isinstance(value, Ref):
        return ref(value.name)
    if isinstance(value, tuple):
        return tuple([to_python(item, ref, device) for item in value])
    if isinstance(value, ListValue):
        return [to_python(item, ref, device) for item in value.items]
    if isinstance(value, (Dtype, TorchConstant)) and value.name in _REFUSED:
        raise RefusedCall(f"torch.{value.name} is for tensors that a graph cannot hold")
    if isinstance(value, Dtype):
        return torch_dtype(value.name)
    if isinstance(value, RunDevice):
        return device.type if value.as_text else device
    if isinstance(value, Slice):
        parts = (value.start, value.stop, value.step)
        return slice(*(to_python(part, ref, device) for part in parts))
    if isinstance(value, TorchConstant):
        return getattr(torch, value.name)
    if isinstance(value, DictValue):
        return {key: to_python(item, ref, device) for key, item in value.items}
    return value


def arguments(
    node: Node, ref: Callable[[str], Any], device: torch.device
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call as torch expects them.

    A graph captured on a CPU creates tensors there by default; elsewhere the device is passed.
    """
    args = tuple([to_python(value, ref, device) for value in node.args])
    kwargs = {key: to_python(value, ref, device) for key, value in node.kwargs}
    if device.type != "cpu" and makes_tensor(node.target):
        kwargs.setdefault("device", device)
    return args, kwargs


def from_python(value: Any, ref: Callable[[Any], Ref | None]) -> Value:
    """Return a torch argument as a value; ``ref`` recognises what stands for a node."""
    reference = ref(value)
    if reference is not None:
        return reference
    if value is None or value is ... or isinstance(value, (bool, int, complex, str)):
        return value
    if isinstance(value, float):
        return plain_float(value)
    if isinstance(value, (list, tuple)):
        items = tuple(from_python(item, ref) for item in value)
        return ListValue(items) if isinstance(value, list) else items
    if isinstance(value, torch.dtype):
        return Dtype(dtype_name(value))
    if isinstance(value, torch.device):
        return RunDevice()
    if isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
        return Slice(*(from_python(part, ref) for part in parts))
    if isinstance(value, (torch.layout, torch.memory_format)):
        return TorchConstant(_CONSTANT_NAMES[value])
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return DictValue(tuple((key, from_python(item, ref)) for key, item in value.items()))
    raise GraphError(f"an argument of type {type(value).__name__} cannot be stored")


@dataclass
class SymbolTable:
    """The symbols that sizes use, with the values they had."""

    symbols: dict[str, Symbol] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """New names of symbols, by torch's names."""

    def dim(self, size: int | torch.SymInt) -> Dim:
        """Return a size as a number or an expression."""
        if not isinstance(size, torch.SymInt):
            return int(size)
        expr = size.node.expr
        if expr.is_Integer:
            return int(expr)
        for symbol in expr.free_symbols:
            self._declare(symbol, size.node.shape_env)
        return Expr(str(expr.xreplace({old: self._rename(old) for old in expr.free_symbols})))

    def _rename(self, symbol: Any) -> Any:
        name = self.names.get(str(symbol))
        return symbol if name is None else type(symbol)(name, **symbol.assumptions0)

    def _declare(self, symbol: Any, env: Any) -> None:
        name = self.names.get(str(symbol), str(symbol))
        if name in self.symbols:
            return
        # Renamed between torch 2.11 and 2.13, where the old name warns.
        new = hasattr(env, "backed_var_to_val")
        values = env.backed_var_to_val if new else env.var_to_val
        bounds = env.var_to_range.get(symbol)
        low = high = None
        if bounds is not None:
            low = int(bounds.lower) if bounds.lower.is_Integer else None
            high = int(bounds.upper) if bounds.upper.is_Integer else None
        example = values.get(symbol)
        self.symbols[name] = Symbol(
            name, int(example) if example is not None else max(low or 0, 1), low, high
        )


def _is_contiguous(tensor: torch.Tensor) -> bool:
    try:
        return tensor.is_contiguous()
    except Exception:  # it depends on a size that is known only at run time
        return True


def spec_of(value: Any, symbols: SymbolTable) -> Result:
    """Return the spec of a tensor (fake ones included), a number, or a nest of them."""
    if isinstance(value, torch.Tensor):
        shape = tuple(symbols.dim(size) for size in value.shape)
        stride = None
        if value.layout is torch.strided and not _is_contiguous(value):
            stride = tuple(symbols.dim(step) for step in value.stride())
        return TensorSpec(shape, dtype_name(value.dtype), stride)
    if isinstance(value, torch.SymInt):
        dim = symbols.dim(value)
        return ScalarSpec("int", dim if isinstance(dim, Expr) else None)
    if isinstance(value, (bool, torch.SymBool)):
        return ScalarSpec("bool")
    if isinstance(value, int):
        return ScalarSpec("int")
    if isinstance(value, (float, torch.SymFloat)):
        return ScalarSpec("float")
    if isinstance(value, (list, tuple)):
        return tuple(spec_of(item, symbols) for item in value)
    return None
