"""Attributes of a torch call besides its operands, in HLO's terms: windows, dimensions, slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graph_net.formats.tpugraphs.hlo import (
    ConvolutionDimensions,
    DotDimensions,
    HloInstruction,
    WindowDimension,
)
from graph_net.graph.graph import Node
from graph_net.graph.operators import base_name
from graph_net.graph.values import ListValue, Value

Shapes = Sequence[tuple[int, ...]]


def with_attributes(plain: HloInstruction, node: Node, shapes: Shapes) -> HloInstruction:
    """Return the instruction with its attributes; ``shapes`` are those of positional operands."""
    base = base_name(node.target)
    if plain.opcode == "convolution" and len(shapes) > 1 and len(shapes[1]) > 2:
        return _convolution(plain, node, shapes, base.startswith("conv_transpose"))
    if plain.opcode == "dot" and shapes:
        return replace(plain, dot=_dot(base, shapes))
    if plain.opcode == "reduce-window":
        return replace(plain, window=_pooling(node, len(plain.shape.sizes) - 2))
    if plain.opcode == "transpose":
        return replace(plain, dimensions=_permutation(node, base, plain))
    if plain.opcode == "reduce" and shapes:
        return replace(plain, dimensions=_reduced(node, len(shapes[0])))
    if plain.opcode == "concatenate" and plain.shape.sizes:
        axis = _whole(argument(node, 1, "dim"), 0) % len(plain.shape.sizes)
        return replace(plain, dimensions=(axis,))
    if base == "slice" and shapes:
        return replace(plain, slices=_slices(node, shapes[0]))
    if plain.opcode == "pad":
        return replace(plain, padding=_padding(node, len(plain.shape.sizes)))
    return plain


def argument(node: Node, place: int, name: str) -> Value:
    """Return an argument by position or by name; None if it is not given."""
    if place < len(node.args):
        return node.args[place]
    return dict(node.kwargs).get(name)


def _convolution(
    plain: HloInstruction, node: Node, shapes: Shapes, is_transposed: bool
) -> HloInstruction:
    kernel = shapes[1]
    count = len(kernel) - 2
    strides = _spread(argument(node, 3, "stride"), count, 1)
    padding = _spread(argument(node, 4, "padding"), count, 0)
    place = 7 if is_transposed else 5
    dilation = _spread(argument(node, place, "dilation"), count, 1)
    groups = _whole(argument(node, 6, "groups"), 1)
    window = tuple(
        WindowDimension(
            kernel[2 + d],
            1 if is_transposed else strides[d],
            padding[d],
            padding[d],
            dilation[d],
            strides[d] if is_transposed else 1,
            int(is_transposed),
        )
        for d in range(count)
    )
    spatial = tuple(range(2, 2 + count))
    features = (0, 1) if is_transposed else (1, 0)
    numbers = ConvolutionDimensions(0, 1, spatial, *features, spatial, 0, 1)
    return replace(
        plain, window=window, convolution=numbers, feature_group_count=groups, batch_group_count=1
    )


def _dot(base: str, shapes: Shapes) -> DotDimensions:
    at = 1 if base in ("addmm", "baddbmm") else 0
    left = len(shapes[at])
    right = len(shapes[at + 1]) if len(shapes) > at + 1 else 2
    summed = 1 if base == "linear" else max(0, right - 2)
    batches = tuple(range(min(left, right) - 2)) if base != "linear" else ()
    return DotDimensions((max(0, left - 1),), (summed,), batches, batches)


def _pooling(node: Node, count: int) -> tuple[WindowDimension, ...]:
    sizes = _spread(argument(node, 1, "kernel_size"), max(0, count), 1)
    given = argument(node, 2, "stride")
    strides = sizes if given in (None, (), ListValue(())) else _spread(given, len(sizes), 1)
    padding = _spread(argument(node, 3, "padding"), len(sizes), 0)
    return tuple(
        WindowDimension(size, stride, pad, pad, 1, 1, 0)
        for size, stride, pad in zip(sizes, strides, padding, strict=True)
    )


def _permutation(node: Node, base: str, plain: HloInstruction) -> tuple[int, ...]:
    rank = max(1, len(plain.shape.sizes))
    if base == "permute":
        return tuple(one % rank for one in _wholes(argument(node, 1, "dims")))
    order = list(range(rank))
    one, other = (_whole(argument(node, n, f"dim{n - 1}"), n - 3) % rank for n in (1, 2))
    order[one], order[other] = order[other], order[one]
    return tuple(order)


def _reduced(node: Node, rank: int) -> tuple[int, ...]:
    given = argument(node, 1, "dim")
    if rank == 0 or given is None or isinstance(given, str | float):
        return tuple(range(rank))
    wanted = _wholes(given) or tuple(range(rank))
    return tuple(sorted({one % rank for one in wanted}))


def _slices(node: Node, shape: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    if not shape:
        return ()
    axis = _whole(argument(node, 1, "dim"), 0) % len(shape)
    found = [(0, size, 1) for size in shape]
    start = _whole(argument(node, 2, "start"), 0)
    end = _whole(argument(node, 3, "end"), shape[axis])
    start, end = (one + shape[axis] if one < 0 else min(one, shape[axis]) for one in (start, end))
    found[axis] = (max(0, start), max(0, end), max(1, _whole(argument(node, 4, "step"), 1)))
    return tuple(found)


def _padding(node: Node, rank: int) -> tuple[tuple[int, int], ...]:
    flat = _wholes(argument(node, 1, "pad"))
    pairs = list(zip(flat[::2], flat[1::2], strict=False))
    return tuple([(0, 0)] * max(0, rank - len(pairs)) + pairs[::-1])


def _wholes(value: Value) -> tuple[int, ...]:
    if isinstance(value, ListValue):
        value = value.items
    if isinstance(value, tuple):
        return tuple(one for one in value if type(one) is int)
    return (value,) if type(value) is int else ()


def _whole(value: Value, default: int) -> int:
    return value if type(value) is int else default


def _spread(value: Value, count: int, default: int) -> tuple[int, ...]:
    """Return one number per dimension; a single number is repeated."""
    given = _wholes(value) or (default,)
    return given if len(given) == count else (given[0],) * count
