"""Models without weights: built so that no parameter is ever filled, captured as they are."""

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

from graph_net.capture.initialisers import Initialisers, silent_initialisers
from graph_net.graph.operators import Trait, names

LARGE = 1 << 22
"""Tensors with fewer elements are made for real, and dropped again where they are parameters:
tables of positions and frequencies keep their values, and a model may look at them while it is
built."""
_FACTORIES = frozenset({torch.empty, torch.rand, torch.randn, torch.zeros, torch.ones})
_TABLES = frozenset(
    {torch.arange, torch.linspace, torch.logspace, torch.eye, torch.full, torch.tensor}
)
"""Factories whose values are what they are called for."""
_WRITING = names(Trait.IN_PLACE)


class _LargeOnMeta(TorchFunctionMode):
    """Makes large tensors without memory, and tables with their values."""

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
            # A table made "on the device of that parameter" would be made on none.
            kwargs = {**kwargs, "device": "cpu"} if _is_meta(kwargs.get("device")) else kwargs
        try:
            return func(*args, **kwargs)
        except RuntimeError as error:
            if "meta" not in str(error) or _in_place(func) or not _mixed((args, kwargs)):
                raise
        # A model that runs itself while it is built, to learn the sizes of its features.
        given, named = tree_map(_to_meta, (args, kwargs))
        return func(*given, **named)


def _is_meta(device: Any) -> bool:
    return device is not None and torch.device(device).type == "meta"


def _in_place(func: Callable[..., Any]) -> bool:
    """Whether a function writes: then a copy on no device would leave what it writes unwritten."""
    name = getattr(func, "__name__", "")
    return name in _WRITING or (name.endswith("_") and not name.endswith("__"))


def _mixed(arguments: Any) -> bool:
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
    """Inside, modules are built with parameters that have shapes and no memory; buffers are real.

    Gives the watcher that knows what the model's initialisers would have written. Random numbers
    that are drawn inside are the same every time. Building on the meta device altogether would lose
    the values of buffers, and building under fake tensors fails for models that look at a value
    while they are built.
    """
    original = nn.Module.register_parameter
    watch = Initialisers()

    def register(module: nn.Module, name: str, param: nn.Parameter | None) -> None:
        original(module, name, param)
        made = module._parameters.get(name)
        if made is not None and made.device.type != "meta":
            empty = made.detach().to("meta")
            watch.moved(made, empty)
            module._parameters[name] = nn.Parameter(empty, requires_grad=made.requires_grad)

    nn.Module.register_parameter = register  # type: ignore[method-assign, assignment]
    try:
        with torch.random.fork_rng(devices=[]), silent_initialisers(watch), watch, _LargeOnMeta():
            torch.manual_seed(0)
            yield watch
    finally:
        nn.Module.register_parameter = original  # type: ignore[method-assign]


def with_fake_inputs(inputs: Any, mode: FakeTensorMode) -> Any:
    """A nest of inputs, its memory-less tensors replaced by fake tensors of one mode."""

    def fake(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.device.type == "meta":
            with mode:
                return torch.empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype)
        return leaf

    return tree_map(fake, inputs)


def with_fake_weights(model: nn.Module, mode: FakeTensorMode) -> nn.Module:
    """The model, its memory-less parameters and buffers replaced by fake tensors of one mode."""
    made: dict[int, torch.Tensor] = {}

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in made:  # tied weights stay tied
            with mode:
                made[id(tensor)] = torch.empty_strided(
                    tensor.shape, tensor.stride(), dtype=tensor.dtype
                )
        return made[id(tensor)]

    parameters: dict[int, nn.Parameter] = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None and parameter.device.type == "meta":
                if id(parameter) not in parameters:
                    parameters[id(parameter)] = nn.Parameter(
                        fake(parameter), requires_grad=parameter.requires_grad
                    )
                module._parameters[name] = parameters[id(parameter)]
        for name, buffer in module._buffers.items():
            if buffer is not None and buffer.device.type == "meta":
                module._buffers[name] = fake(buffer)
    return model
