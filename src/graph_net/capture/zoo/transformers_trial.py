"""Try a model's inputs under fake tensors, and pass inputs as constants of the call."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map_only

from graph_net.capture.weights import with_fake_weights


class ValueTensor(torch.Tensor):
    """A tensor whose values stay readable while a model is traced: the size of an image, say.

    A model reads such values to slice and reshape. Results of ValueTensors alone are ValueTensors;
    in a call with any other tensor a ValueTensor is a constant.
    """

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        arguments = (args, kwargs or {})
        tensors = [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]
        if all(isinstance(tensor, ValueTensor) for tensor in tensors):
            with _untraced():
                args, kwargs = tree_map_only(ValueTensor, _plain, arguments)
                return tree_map_only(torch.Tensor, value_tensor, func(*args, **kwargs))
        args, kwargs = tree_map_only(ValueTensor, _constant, arguments)
        return func(*args, **kwargs)


def value_tensor(tensor: torch.Tensor) -> ValueTensor:
    """Return the tensor as a ValueTensor."""
    with _untraced():
        return tensor.as_subclass(ValueTensor)


def _plain(tensor: ValueTensor) -> torch.Tensor:
    return tensor.as_subclass(torch.Tensor)


def _constant(tensor: ValueTensor) -> torch.Tensor:
    with _untraced():
        values, dtype = _plain(tensor).tolist(), tensor.dtype
    return torch.tensor(values, dtype=dtype)


@contextmanager
def _untraced() -> Iterator[None]:
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        yield


class FakeCall:
    """Calls a model under fake tensors, as export would, to see whether its inputs fit."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.mode: FakeTensorMode | None = None

    def call(self, function: Any, inputs: Mapping[str, Any]) -> Any:
        """Return what the function returns for fake tensors like these inputs."""
        if self.mode is None:
            self.mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
        fake = {name: self._fake(value) for name, value in inputs.items()}
        flags = torch.compiler._is_compiling_flag, torch.compiler._is_exporting_flag
        torch.compiler._is_compiling_flag = torch.compiler._is_exporting_flag = True
        quiet = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        try:
            with (
                _fake_weights(self.model, self.mode),
                _outside_building(),
                torch.no_grad(),
                self.mode,
            ):
                return function(**fake)
        finally:
            logging.disable(quiet)
            torch.compiler._is_compiling_flag, torch.compiler._is_exporting_flag = flags

    def _fake(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and not isinstance(value, ValueTensor):
            assert self.mode is not None
            return self.mode.from_tensor(value, static_shapes=True)
        return value

    def runs(self, inputs: Mapping[str, Any]) -> bool:
        """Return whether the model can be called with these inputs."""
        try:
            self.call(self.model, inputs)
        except Exception:
            return False
        return True


@contextmanager
def _fake_weights(model: nn.Module, mode: FakeTensorMode) -> Iterator[None]:
    """Give a model fake weights for a call; restore its own afterwards."""
    before = [(module, {**module._parameters}, {**module._buffers}) for module in model.modules()]
    with_fake_weights(model, mode)
    try:
        yield
    finally:
        for module, parameters, buffers in before:
            module._parameters.update(parameters)
            module._buffers.update(buffers)


@contextmanager
def _outside_building() -> Iterator[None]:
    """Leave the mode models are built in: it would allocate no memory in a call."""
    modes = []
    while torch._C._len_torch_function_stack():
        modes.append(torch._C._pop_torch_function_stack())
    try:
        yield
    finally:
        for mode in reversed(modes):
            torch._C._push_on_torch_function_stack(mode)


def bind(model: nn.Module, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Make ValueTensors constants of the model's call; return the other inputs."""
    constants = {name: value for name, value in inputs.items() if isinstance(value, ValueTensor)}
    if constants:
        model.forward = partial(model.forward, **constants)
    return {name: value for name, value in inputs.items() if name not in constants}


def bind_grid(model: nn.Module, grid: torch.Tensor) -> None:
    """Give the image encoders in a model what they compute from a grid of patches alone."""
    from transformers.exporters.utils import precompute_export_inputs

    for module in list(model.modules()):
        accepted = inspect.signature(module.forward).parameters
        if "grid_thw" not in accepted:
            continue
        open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values())
        extra: dict[str, Any] = {"grid_thw": grid}
        with _untraced(), suppress(Exception):  # the encoder computes the rest itself
            precompute_export_inputs(module, extra)
        constants = {
            name: value_tensor(value) if isinstance(value, torch.Tensor) else value
            for name, value in extra.items()
            if name != "grid_thw" and (open_ended or name in accepted)
        }
        module.forward = partial(module.forward, **constants)


def know_sizes(model: nn.Module) -> None:
    """Turn buffers that a module reads as a number (a stride, a padding) into ValueTensors."""
    for module in model.modules():
        for name, buffer in list(module._buffers.items()):
            if buffer is None or buffer.numel() != 1 or buffer.device.type == "meta":
                continue
            if not buffer.is_floating_point() and name != "num_batches_tracked":
                del module._buffers[name]
                setattr(module, name, value_tensor(buffer))
