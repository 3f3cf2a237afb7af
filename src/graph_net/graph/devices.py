"""Replacement of the devices that calls name by the device of the run."""

from __future__ import annotations

from graph_net.graph.operators import ENTER_AUTOCAST, Trait, names
from graph_net.graph.values import Dtype, RunDevice, Value

_DEVICE_TYPES = frozenset("cpu cuda xpu mps npu hpu xla mlu musa maca meta".split())
_TENSOR_TYPES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}
_FACTORIES = names(Trait.FACTORY)
_MOVES = frozenset({"method:to", "method:type", "method:cpu", "method:cuda"})

Args = tuple[Value, ...]
Kwargs = tuple[tuple[str, Value], ...]


def names_device(value: Value) -> bool:
    """Return whether a string names a device, such as ``cuda:0``."""
    return isinstance(value, str) and value.partition(":")[0] in _DEVICE_TYPES


def makes_tensor(target: str) -> bool:
    """Return whether a call creates a tensor, on the CPU unless a device is passed."""
    if target.startswith("method:"):
        return False
    parts = target.split(".")
    return (parts[-1] if parts[0] == "torch" else parts[1] if len(parts) > 1 else "") in _FACTORIES


def without_devices(target: str, args: Args, kwargs: Kwargs) -> tuple[str, Args, Kwargs]:
    """Return the call with every device it names replaced by ``RunDevice``."""
    if kwargs and any(key == "device" for key, _ in kwargs):
        kwargs = tuple(
            (key, RunDevice() if key == "device" and isinstance(value, (str, int)) else value)
            for key, value in kwargs
        )
    if target in _MOVES:
        return _replace_move(target, args, kwargs)
    if target == ENTER_AUTOCAST and args and isinstance(args[0], str):
        return target, (RunDevice(as_text=True), *args[1:]), kwargs
    return target, args, kwargs


def _replace_move(target: str, args: Args, kwargs: Kwargs) -> tuple[str, Args, Kwargs]:
    if target in ("method:cpu", "method:cuda"):
        return "method:to", (args[0], RunDevice()), ()
    if len(args) > 1:
        if target == "method:to" and names_device(args[1]):
            return target, (args[0], RunDevice(), *args[2:]), kwargs
        if target == "method:type" and isinstance(args[1], str):
            dtype = _TENSOR_TYPES.get(args[1].rpartition(".")[2])
            if dtype is not None:
                return target, (args[0], Dtype(dtype), *args[2:]), kwargs
    return target, args, kwargs
