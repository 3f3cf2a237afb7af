"""Devices named in a call become the device of the run: a graph itself has none."""

from __future__ import annotations

from graph_net.graph.operators import ENTER_AUTOCAST, Trait, names
from graph_net.graph.values import Dtype, RunDevice, Value

_DEVICE_WORDS = frozenset(
    """
cpu cuda xpu mps npu hpu xla mlu musa maca meta
""".split()
)
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
    """Whether a string names a device, such as ``cuda:0``."""
    return isinstance(value, str) and value.partition(":")[0] in _DEVICE_WORDS


def makes_tensor(target: str) -> bool:
    """Whether a call makes a tensor out of nothing, on the CPU unless it is told where."""
    if target.startswith("method:"):
        return False
    parts = target.split(".")
    return (parts[-1] if parts[0] == "torch" else parts[1] if len(parts) > 1 else "") in _FACTORIES


def without_devices(target: str, args: Args, kwargs: Kwargs) -> tuple[str, Args, Kwargs]:
    """The same call with every device it names replaced by ``RunDevice``."""
    if kwargs and any(key == "device" for key, _ in kwargs):
        kwargs = tuple(
            (key, RunDevice() if key == "device" and isinstance(value, (str, int)) else value)
            for key, value in kwargs
        )
    if target in _MOVES:
        return _moved(target, args, kwargs)
    if target == ENTER_AUTOCAST and args and isinstance(args[0], str):
        return target, (RunDevice(as_text=True), *args[1:]), kwargs
    return target, args, kwargs


def _moved(target: str, args: Args, kwargs: Kwargs) -> tuple[str, Args, Kwargs]:
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
