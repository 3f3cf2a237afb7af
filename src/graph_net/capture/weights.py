"""Build models without weights, so that no parameter is ever filled, and capture them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from graph_net.capture.initialisers import Initialisers, patch_initialisers
from graph_net.graph.operators import Trait, names

LARGE = 1 << 22
"""Tensors with fewer elements are allocated, and dropped again if they are parameters: tables of
positions and frequencies keep their values, and a model may read them while it is built."""
_FACTORIES = frozenset({torch.empty, torch.rand, torch.randn, torch.zeros, torch.ones})
_TABLES = frozenset(
    {torch.arange, torch.linspace, torch.logspace, torch.eye, torch.full, torch.tensor}
)
"""Factories that are called for their values."""
_WRITING = names(Trait.IN_PLACE)


class _LargeOnMeta(TorchFunctionMode):
    """Makes large tensors on the meta device, and tables with their values."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        large = func in _FACTORIES and _elements(args, kwargs) >= LARGE
        if large and kwargs.get("device") is None:
            kwargs = {**kwargs, "device": "meta"}
        elif func in _TABLES or (func in _FACTORIES and not large):
            # A table made "on the device of that parameter" would be on meta.
            kwargs = {**kwargs, "device": "cpu"} if _is_meta(kwargs.get("device")) else kwargs
        try:
            return func(*args, **kwargs)
        except RuntimeError as error:
            if "meta" not in str(error) or _is_in_place(func) or not _mixes_devices((args, kwargs)):
                raise
        # A model that runs itself while it is built, to learn the sizes of its features.
        args, kwargs = tree_map(_to_meta, (args, kwargs))
        return func(*args, **kwargs)


def _is_meta(device: Any) -> bool:
    return device is not None and torch.device(device).type == "meta"


def _is_in_place(func: Callable[..., Any]) -> bool:
    """Return whether a function writes: on a meta copy its writes would be lost."""
    name = getattr(func, "__name__", "")
    return name in _WRITING or (name.endswith("_") and not name.endswith("__"))


def _mixes_devices(arguments: Any) -> bool:
    tensors = [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]
    return len({tensor.device.type for tensor in tensors}) > 1


def _to_meta(leaf: Any) -> Any:
    return leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf


def _elements(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    size = kwargs.get("size", args[0] if len(args) == 1 else args)
    try:
        return prod(size) if isinstance(size, (tuple, list, torch.Size)) else int(size)
    except (TypeError, ValueError):
        return 0


@contextmanager
def without_weights() -> Iterator[Initialisers]:
    """Inside the context, modules are built with parameters without memory; buffers are real.

    Yields the watcher that knows what the model's initialisers would have written. Random numbers
    drawn inside are the same every time. Building entirely on the meta device would lose the values
    of buffers; building under fake tensors fails for models that read a value while they are
    built.
    """
    original = nn.Module.register_parameter
    watch = Initialisers()

    def register(module: nn.Module, name: str, param: nn.Parameter | None) -> None:
        original(module, name, param)
        parameter = module._parameters.get(name)
        if parameter is not None and parameter.device.type != "meta":
            empty = parameter.detach().to("meta")
            watch.copy_recipe(parameter, empty)
            module._parameters[name] = nn.Parameter(empty, requires_grad=parameter.requires_grad)

    nn.Module.register_parameter = register  # type: ignore[method-assign, assignment]
    try:
        with torch.random.fork_rng(devices=[]), patch_initialisers(watch), watch, _LargeOnMeta():
            torch.manual_seed(0)
            yield watch
    finally:
        nn.Module.register_parameter = original  # type: ignore[method-assign]


def with_fake_inputs(inputs: Any, mode: FakeTensorMode) -> Any:
    """Return the inputs with their meta tensors replaced by fake tensors of one mode."""
    return tree_map(lambda leaf: _fake(leaf, mode) if _is_meta_tensor(leaf) else leaf, inputs)


def _is_meta_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "meta"


def _fake(tensor: torch.Tensor, mode: FakeTensorMode) -> torch.Tensor:
    with mode:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)


def with_fake_weights(model: nn.Module, mode: FakeTensorMode) -> nn.Module:
    """Replace the model's meta parameters and buffers by fake tensors of one mode; return it."""
    fakes: dict[int, torch.Tensor] = {}  # by identity: tied weights stay tied

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in fakes:
            fakes[id(tensor)] = _fake(tensor, mode)
            if isinstance(tensor, nn.Parameter):
                fakes[id(tensor)] = nn.Parameter(fakes[id(tensor)], tensor.requires_grad)
        return fakes[id(tensor)]

    for module in model.modules():
        tables: tuple[dict[str, Any], ...] = (module._parameters, module._buffers)
        for table in tables:
            for name, tensor in table.items():
                if _is_meta_tensor(tensor):
                    table[name] = fake(tensor)
    return model
