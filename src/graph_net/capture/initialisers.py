"""The values a model's own initialisers would write, observed while it is built without memory.

Every operator that runs while a model is built is intercepted. For tensors without memory the last
write is kept as a recipe: draws, fills and copies set it, arithmetic with numbers transforms it,
and any other write makes it unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from graph_net.capture.initial_recipes import (
    clamp_recipe,
    constant,
    erfinv_recipe,
    normal,
    recipe_like,
    scale_recipe,
    uniform,
)
from graph_net.graph.operators import Trait, names
from graph_net.graph.recipe import Constant, Recipe

Initial: TypeAlias = Recipe | None
Writer: TypeAlias = Callable[["Initialisers", tuple[Any, ...], dict[str, Any]], Initial]
"""Returns the recipe that an in-place call leaves in its first argument."""
_PARTIAL = names(Trait.PARTIAL_WRITE)
_COPIES = names(Trait.COPY)
_UNINITIALISED = names(Trait.UNINITIALISED)


@dataclass
class _Write:
    """The recipe of a storage; ``whole`` if it was written all at once."""

    storage: torch.UntypedStorage
    recipe: Recipe
    whole: bool


class Initialisers(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records the last write to every tensor without memory while it is active.

    A write to a part of a tensor (an embedding's padding row, the bias of one gate) does not
    replace a write to the whole: one row of zeros drawn like the others changes little, a table of
    zeros would silence the model. Where only parts are written, the last one that draws stands for
    the whole.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._writes: dict[int, _Write] = {}
        self._unwritten: dict[int, StorageWeakRef] = {}

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self._observe(func, args, kwargs or {}, out)
        return out

    def recipe(self, tensor: torch.Tensor) -> Initial:
        """Return the recipe of a tensor; None if it is unknown."""
        if tensor.device.type != "meta":
            return None if self._is_unwritten(tensor) else recipe_like(tensor)
        write = self._writes.get(_key(tensor))
        return None if write is None else write.recipe

    def recipes(self, model: nn.Module) -> dict[str, Recipe]:
        """Return the recipes of a model's parameters and buffers, by name."""
        named = [
            *model.named_parameters(remove_duplicate=False),
            *model.named_buffers(remove_duplicate=False),
        ]
        recipes = {name: self.recipe(tensor) for name, tensor in named}
        return {name: recipe for name, recipe in recipes.items() if recipe is not None}

    def copy_recipe(self, source: torch.Tensor, target: torch.Tensor) -> None:
        """Record for a tensor without memory the recipe of the tensor it stands for."""
        self.record(target, self.recipe(source))

    def _observe(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: torch.Tensor
    ) -> None:
        name = func.overloadpacket.__name__
        writes = name.endswith("_") and args and isinstance(args[0], torch.Tensor)
        if out.device.type != "meta":
            self._note_written(name, out)
        elif writes and name in _PARTIAL:
            return
        elif writes:
            self.record(out, self._written_recipe(name, args, kwargs))
        elif _key(out) not in self._writes:  # otherwise a view
            self.record(out, self._factory_recipe(name, args, kwargs))

    def _note_written(self, name: str, out: torch.Tensor) -> None:
        """Remember which memory has not been written yet."""
        if name in _UNINITIALISED:
            storage = StorageWeakRef(out.untyped_storage())  # type: ignore[no-untyped-call]
            self._unwritten[_key(out)] = storage
        elif name.endswith("_") and self._unwritten:
            self._unwritten.pop(_key(out), None)

    def _is_unwritten(self, tensor: torch.Tensor) -> bool:
        storage = self._unwritten.get(_key(tensor))
        return storage is not None and not storage.expired()  # type: ignore[no-untyped-call]

    def _written_recipe(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Initial:
        try:
            return _WRITERS[name](self, args, kwargs) if name in _WRITERS else None
        except (TypeError, ValueError, IndexError):  # an argument that is not a number
            return None

    def _factory_recipe(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Initial:
        """Return a new tensor's recipe: its factory's value, or that of the in-place form."""
        try:
            if name in _FACTORIES:
                return _FACTORIES[name](args)
            if name in _COPIES:
                return self.recipe(args[0])
            swapped = name in ("mul", "add") and not isinstance(args[0], torch.Tensor)
            operands = (args[1], args[0], *args[2:]) if swapped else args
            twin = _ARITHMETIC.get(f"{name}_")
            return None if twin is None else twin(self, operands, kwargs)
        except (TypeError, ValueError, IndexError):
            return None

    def record(self, tensor: torch.Tensor, recipe: Initial) -> None:
        """Record a write to a tensor without memory."""
        storage = tensor.untyped_storage()
        whole = tensor.numel() * tensor.element_size() >= storage.nbytes()
        previous = self._writes.get(storage._cdata)
        if not whole and previous is not None and (previous.whole or isinstance(recipe, Constant)):
            return
        if recipe is not None:
            self._writes[storage._cdata] = _Write(storage, recipe, whole)
        elif whole:
            self._writes.pop(storage._cdata, None)


@contextmanager
def patch_initialisers(watch: Initialisers) -> Iterator[None]:
    """Also observe, inside the context, the initialisers that skip tensors without memory."""
    truncated, orthogonal = nn.init._no_grad_trunc_normal_, nn.init.orthogonal_

    def truncated_normal(
        tensor: torch.Tensor, mean: float, std: float, a: float, b: float, generator: Any = None
    ) -> torch.Tensor:
        if tensor.device.type != "meta":
            return truncated(tensor, mean, std, a, b, generator)
        watch.record(tensor, normal(mean, std, a, b))
        return tensor

    def orthonormal(tensor: torch.Tensor, gain: float = 1, generator: Any = None) -> torch.Tensor:
        if tensor.device.type != "meta":
            return orthogonal(tensor, gain, generator)
        longer = max(len(tensor), tensor.numel() // max(1, len(tensor)))
        watch.record(tensor, normal(0.0, gain / math.sqrt(longer)))
        return tensor

    nn.init._no_grad_trunc_normal_, nn.init.orthogonal_ = truncated_normal, orthonormal
    try:
        yield
    finally:
        nn.init._no_grad_trunc_normal_, nn.init.orthogonal_ = truncated, orthogonal


def _key(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _number(value: Any) -> float:
    """Return a number, or the value of a tensor of one element."""
    if isinstance(value, torch.Tensor):
        if value.device.type == "meta" or value.numel() != 1:
            raise ValueError("not a number")
        return float(value)
    return float(value)


def _get_argument(args: tuple[Any, ...], kwargs: dict[str, Any], index: int, name: str) -> Any:
    return args[index] if len(args) > index else kwargs.get(name)


def _draw(make: Callable[[float, float], Initial], first: float, second: float) -> Writer:
    """Return a writer that draws with two numbers, given by position."""

    def write(watch: Initialisers, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Initial:
        numbers = [*map(_number, args[1:3]), *(first, second)[max(0, len(args) - 1) :]]
        return make(numbers[0], numbers[1])

    return write


def _transform(
    change: Callable[[Recipe, tuple[Any, ...], dict[str, Any]], Initial],
) -> Writer:
    """Return a writer that changes the recipe of its first argument."""

    def write(watch: Initialisers, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Initial:
        recipe = watch.recipe(args[0])
        return None if recipe is None else change(recipe, args, kwargs)

    return write


def _rescale(coefficients: Callable[[float], tuple[float, float]]) -> Writer:
    """Return a writer for arithmetic with one number, which gives a factor and a shift."""

    def change(recipe: Recipe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Initial:
        number = _number(args[1]) * _number(kwargs.get("alpha", 1))
        return scale_recipe(recipe, *coefficients(number))

    return _transform(change)


def _clamp(recipe: Recipe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Initial:
    low, high = _get_argument(args, kwargs, 1, "min"), _get_argument(args, kwargs, 2, "max")
    return clamp_recipe(recipe, low, high)


_ARITHMETIC: dict[str, Writer] = {
    "mul_": _rescale(lambda number: (number, 0.0)),
    "div_": _rescale(lambda number: (1 / number, 0.0) if number else (float("nan"), 0.0)),
    "add_": _rescale(lambda number: (1.0, number)),
    "sub_": _rescale(lambda number: (1.0, -number)),
    "neg_": _transform(lambda recipe, args, kwargs: scale_recipe(recipe, -1.0)),
    "erfinv_": _transform(lambda recipe, args, kwargs: erfinv_recipe(recipe)),
    "clamp_": _transform(_clamp),
}
_WRITERS: dict[str, Writer] = {
    **_ARITHMETIC,
    "normal_": _draw(normal, 0.0, 1.0),
    "uniform_": _draw(uniform, 0.0, 1.0),
    "zero_": lambda watch, args, kwargs: constant(0.0),
    "fill_": lambda watch, args, kwargs: constant(_number(args[1])),
    "copy_": lambda watch, args, kwargs: watch.recipe(args[1]),
}
_FACTORIES: dict[str, Callable[[tuple[Any, ...]], Initial]] = {
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros"), lambda args: constant(0.0)),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), lambda args: constant(1.0)),
    **dict.fromkeys(("full", "full_like"), lambda args: constant(_number(args[1]))),
    "new_full": lambda args: constant(_number(args[2])),
    **dict.fromkeys(("randn", "randn_like"), lambda args: normal(0.0, 1.0)),
    **dict.fromkeys(("rand", "rand_like"), lambda args: uniform(0.0, 1.0)),
}
