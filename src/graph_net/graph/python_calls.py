"""Calls of Python's own functions on numbers and tuples, bounded before they are made.

``operator.pow(7, 2**40)`` and ``operator.mul("a", 2**40)`` are computed by Python itself, which
sets no limit. Integers stay below ``MAX_BITS`` bits, containers below ``MAX_ITEMS`` items, and
texts are compared but not computed with. Tensors pass: torch checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import fx

from graph_net.graph.errors import RefusedCall

MAX_BITS = 256
MAX_ITEMS = 65_536
MAX_DIGITS = 400
"""The most decimal digits for ``round``, which computes such a power of ten; no float has more."""
_NUMBERS = (bool, int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)
_COMPARISONS = frozenset({"eq", "ne", "is_", "is_not", "getattr", "not_", "truth", "len"})
_FLOAT_TEXTS = ("inf", "-inf", "nan")
"""Texts for which ``float`` may be called: those that a source writes."""
_REDUCTIONS = frozenset({"sum", "prod"})
_ITERATORS = frozenset({"max", "min", "sum", "tuple", "list", "prod"})


def check_plain(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise RefusedCall unless a call of ``operator.``, ``builtins.`` or ``math.`` is bounded."""
    values = (*args, *kwargs.values())
    if name == "float" and len(args) == 1 and args[0] in _FLOAT_TEXTS:
        return
    if name not in _COMPARISONS and any(isinstance(value, str) for value in values):
        raise RefusedCall(f"{name} of a text; a graph computes with tensors and numbers")
    rule = _RULES.get(name)
    if rule is not None and not any(isinstance(v, (torch.Tensor, fx.Node)) for v in values):
        rule(name, *args, **kwargs)
    if name in _REDUCTIONS:
        _check_numbers(name, values)
    if name in _ITERATORS:
        for value in args:
            if isinstance(value, torch.Tensor) and value.dim() and value.shape[0] > MAX_ITEMS:
                raise RefusedCall(f"{name} of a tensor with {value.shape[0]} rows, one by one")
            if isinstance(value, str):
                raise RefusedCall(f"{name} of a text")


def _check_numbers(name: str, values: tuple[Any, ...]) -> None:
    """Raise unless a sum or product is of numbers: tuples or texts would grow without bound."""
    for value in values:
        items = value if isinstance(value, (tuple, list)) else (value,)
        if value is not values[0] and isinstance(value, (tuple, list)):
            raise RefusedCall(f"{name} that starts from a {type(value).__name__}")
        if any(isinstance(item, (str, tuple, list)) for item in items):
            raise RefusedCall(f"{name} of something other than numbers")


def check_method(name: str, args: tuple[Any, ...]) -> None:
    """Raise RefusedCall unless a method is called on a tensor or on a size."""
    owner = args[0] if args else None
    if isinstance(owner, (torch.Tensor, fx.Node)):
        if name == "tolist" and isinstance(owner, torch.Tensor) and owner.numel() > 1 << 20:
            raise RefusedCall(f"tolist of {owner.numel()} elements")
        return
    if isinstance(owner, torch.Size) and name == "numel":
        return
    if isinstance(owner, _NUMBERS) and name in _NUMBER_METHODS:
        check_plain(_NUMBER_METHODS[name], args, {})
        return
    raise RefusedCall(f"the method {name} of a {type(owner).__name__}, which is not a tensor")


_NUMBER_METHODS = {
    f"__{word}__": {"and": "and_", "or": "or_"}.get(word, word)
    for word in "add sub mul truediv floordiv mod neg abs eq ne lt le gt ge and or xor".split()
}


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 0


def _check_bits(bits: int, name: str) -> None:
    if bits > MAX_BITS:
        raise RefusedCall(f"{name} would give an integer of {bits} bits; the limit is {MAX_BITS}")


def _check_power(name: str, base: Any, exponent: Any, *rest: Any) -> None:
    if isinstance(base, int) and isinstance(exponent, int):
        _check_bits(_bits(base) * max(exponent, 0) if abs(base) > 1 else 1, name)


def _check_shift(name: str, value: Any, by: Any, *rest: Any) -> None:
    if isinstance(value, int) and isinstance(by, int) and by > 0:
        _check_bits(_bits(value) + by, name)


def _check_product(name: str, left: Any, right: Any, *rest: Any) -> None:
    _check_bits(_bits(left) + _bits(right), name)
    for items, times in ((left, right), (right, left)):
        if isinstance(items, (tuple, list)) and isinstance(times, int):
            _check_items(len(items) * times, name)


def _check_join(name: str, left: Any, right: Any, *rest: Any) -> None:
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        _check_items(len(left) + len(right), name)


def _check_items(items: int, name: str) -> None:
    if items > MAX_ITEMS:
        raise RefusedCall(f"{name} would give {items} items; the limit is {MAX_ITEMS}")


def _check_product_of_all(name: str, values: Any, *rest: Any, start: Any = 1) -> None:
    if isinstance(values, (tuple, list)):
        _check_bits(sum(_bits(value) for value in values) + _bits(start), name)


def _check_round(name: str, value: Any, ndigits: Any = None) -> None:
    if isinstance(ndigits, int) and abs(ndigits) > MAX_DIGITS:
        raise RefusedCall(f"round to {ndigits} digits; the limit is {MAX_DIGITS}")


_RULES: dict[str, Callable[..., None]] = {
    **dict.fromkeys(("pow", "ipow"), _check_power),
    **dict.fromkeys(("lshift", "ilshift"), _check_shift),
    **dict.fromkeys(("mul", "imul"), _check_product),
    **dict.fromkeys(("add", "iadd", "concat"), _check_join),
    "prod": _check_product_of_all,
    "round": _check_round,
}
