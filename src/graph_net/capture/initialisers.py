"""The values a model's own initialisers would write, watched while it is built without memory.

Every operator that runs while a model is built passes by. Of tensors without memory, what was
written last is kept as a recipe: drawing, filling and copying say it, arithmetic with numbers
changes it, and whatever else writes makes it unknown.
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
    like,
    normal,
    normal_from,
    scale_recipe,
    uniform,
)
from graph_net.graph.operators import Trait, names
from graph_net.graph.recipe import Constant, Recipe

Found: TypeAlias = Recipe | None
_PART = names(Trait.PARTIAL_WRITE)
_SAME = names(Trait.COPY)
_NOTHING = names(Trait.UNINITIALISED)


@dataclass
class _Word:
    """What is known of a storage; ``whole`` where it was said of all of it at once."""

    storage: torch.UntypedStorage
    recipe: Recipe
    whole: bool


class Initialisers(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps the last word on every tensor without memory that is written while it is active.

    A word on a part of a tensor (an embedding's padding row, the bias of one gate) does not replace
    a word on the whole: one row of zeros drawn like the others changes little, a table of zeros
    would silence the model. Where parts are all that is written, the last one that draws stands
    for the whole.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._words: dict[int, _Word] = {}
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
            self._watch(func, args, kwargs or {}, out)
        return out

    def recipe(self, tensor: torch.Tensor) -> Found:
        """The last word on a tensor; None where there is none."""
        if tensor.device.type != "meta":
            return None if self._is_unwritten(tensor) else like(tensor)
        word = self._words.get(_key(tensor))
        return None if word is None else word.recipe

    def recipes(self, model: nn.Module) -> dict[str, Recipe]:
        """What a model's parameters and buffers hold, by name: the last word, or real values."""
        named = [
            *model.named_parameters(remove_duplicate=False),
            *model.named_buffers(remove_duplicate=False),
        ]
        found = {name: self.recipe(tensor) for name, tensor in named}
        return {name: recipe for name, recipe in found.items() if recipe is not None}

    def moved(self, source: torch.Tensor, target: torch.Tensor) -> None:
        """Say of a tensor without memory what is known of the one it stands for."""
        self.say(target, self.recipe(source))

    def _watch(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: torch.Tensor
    ) -> None:
        name = func.overloadpacket.__name__
        writes = name.endswith("_") and args and isinstance(args[0], torch.Tensor)
        if out.device.type != "meta":
            self._note_written(name, out)
        elif writes and name in _PART:
            return
        elif writes:
            self.say(out, self._written(name, out, args, kwargs))
        elif _key(out) not in self._words:  # otherwise a view
            self.say(out, self._made(name, args, kwargs))

    def _note_written(self, name: str, out: torch.Tensor) -> None:
        """Remember which memory nobody has written yet."""
        if name in _NOTHING:
            kept = StorageWeakRef(out.untyped_storage())  # type: ignore[no-untyped-call]
            self._unwritten[_key(out)] = kept
        elif name.endswith("_") and self._unwritten:
            self._unwritten.pop(_key(out), None)

    def _is_unwritten(self, tensor: torch.Tensor) -> bool:
        kept = self._unwritten.get(_key(tensor))
        return kept is not None and not kept.expired()  # type: ignore[no-untyped-call]

    def _written(
        self, name: str, out: torch.Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Found:
        try:
            return _WRITERS[name](self, args, kwargs) if name in _WRITERS else None
        except (TypeError, ValueError, IndexError):  # an argument that is no number
            return None

    def _made(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found:
        """What a new tensor holds: what its factory says, or an in-place twin would have said."""
        try:
            if name in _FACTORIES:
                return _FACTORIES[name](args)
            if name in _SAME:
                return self.recipe(args[0])
            swapped = name in ("mul", "add") and not isinstance(args[0], torch.Tensor)
            given = (args[1], args[0], *args[2:]) if swapped else args
            twin = _ARITHMETIC.get(f"{name}_")
            return None if twin is None else twin(self, given, kwargs)
        except (TypeError, ValueError, IndexError):
            return None

    def say(self, tensor: torch.Tensor, recipe: Found) -> None:
        """Take this as the last word on a tensor without memory."""
        storage = tensor.untyped_storage()
        whole = tensor.numel() * tensor.element_size() >= storage.nbytes()
        known = self._words.get(storage._cdata)
        if not whole and known is not None and (known.whole or isinstance(recipe, Constant)):
            return
        if recipe is not None:
            self._words[storage._cdata] = _Word(storage, recipe, whole)
        elif whole:
            self._words.pop(storage._cdata, None)


@contextmanager
def silent_initialisers(watch: Initialisers) -> Iterator[None]:
    """Inside, the initialisers that pass over tensors without memory are heard as well."""
    truncated, orthogonal = nn.init._no_grad_trunc_normal_, nn.init.orthogonal_

    def truncated_normal(
        tensor: torch.Tensor, mean: float, std: float, a: float, b: float, generator: Any = None
    ) -> torch.Tensor:
        if tensor.device.type != "meta":
            return truncated(tensor, mean, std, a, b, generator)
        watch.say(tensor, normal(mean, std, a, b))
        return tensor

    def orthonormal(tensor: torch.Tensor, gain: float = 1, generator: Any = None) -> torch.Tensor:
        if tensor.device.type != "meta":
            return orthogonal(tensor, gain, generator)
        longer = max(len(tensor), tensor.numel() // max(1, len(tensor)))
        watch.say(tensor, normal(0.0, gain / math.sqrt(longer)))
        return tensor

    nn.init._no_grad_trunc_normal_, nn.init.orthogonal_ = truncated_normal, orthonormal
    try:
        yield
    finally:
        nn.init._no_grad_trunc_normal_, nn.init.orthogonal_ = truncated, orthogonal


def _key(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _number(value: Any) -> float:
    """A number, or a tensor that is one."""
    if isinstance(value, torch.Tensor):
        if value.device.type == "meta" or value.numel() != 1:
            raise ValueError("no number")
        return float(value)
    return float(value)


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], at: int, name: str, usual: Any) -> Any:
    return args[at] if len(args) > at else kwargs.get(name, usual)


def _drawn(make: Callable[[float, float], Found], first: float, second: float) -> Any:
    """A writer that draws with two numbers, given by position."""

    def write(watch: Initialisers, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found:
        given = [*map(_number, args[1:3]), *(first, second)[max(0, len(args) - 1) :]]
        return make(given[0], given[1])

    return write


def _copied(watch: Initialisers, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found:
    return watch.recipe(args[1])


def _filled(watch: Initialisers, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found:
    return constant(_number(args[1]))


def _changed(change: Callable[[float], tuple[float, float]]) -> Any:
    """Arithmetic with one number, which gives a factor and a shift."""

    def write(watch: Initialisers, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found:
        recipe = watch.recipe(args[0])
        number = _number(args[1]) * _number(kwargs.get("alpha", 1))
        return None if recipe is None else scale_recipe(recipe, *change(number))

    return write


def _negated(watch: Initialisers, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found:
    recipe = watch.recipe(args[0])
    return None if recipe is None else scale_recipe(recipe, -1.0)


def _erfinv(watch: Initialisers, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found:
    recipe = watch.recipe(args[0])
    return None if recipe is None else normal_from(recipe)


def _clamped(watch: Initialisers, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found:
    recipe = watch.recipe(args[0])
    low, high = _argument(args, kwargs, 1, "min", None), _argument(args, kwargs, 2, "max", None)
    return None if recipe is None else clamp_recipe(recipe, low, high)


_ARITHMETIC: dict[str, Any] = {
    "mul_": _changed(lambda number: (number, 0.0)),
    "div_": _changed(lambda number: (1 / number, 0.0) if number else (float("nan"), 0.0)),
    "add_": _changed(lambda number: (1.0, number)),
    "sub_": _changed(lambda number: (1.0, -number)),
    "neg_": _negated,
    "erfinv_": _erfinv,
    "clamp_": _clamped,
}
_WRITERS: dict[str, Any] = {
    **_ARITHMETIC,
    "normal_": _drawn(normal, 0.0, 1.0),
    "uniform_": _drawn(uniform, 0.0, 1.0),
    "zero_": lambda watch, args, kwargs: constant(0.0),
    "fill_": _filled,
    "copy_": _copied,
}
_FACTORIES: dict[str, Callable[[tuple[Any, ...]], Found]] = {
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros"), lambda args: constant(0.0)),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), lambda args: constant(1.0)),
    **dict.fromkeys(("full", "full_like"), lambda args: constant(_number(args[1]))),
    "new_full": lambda args: constant(_number(args[2])),
    **dict.fromkeys(("randn", "randn_like"), lambda args: normal(0.0, 1.0)),
    **dict.fromkeys(("rand", "rand_like"), lambda args: uniform(0.0, 1.0)),
}
