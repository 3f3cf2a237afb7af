"""Tensors from recipes: the same values on every machine, in any order, in any subset.

Values depend on the recipe, the dtype, the name and the seed; not on the device, the number of
threads, or the range drawn. They are computed in float32 or int64 and then cast: a bfloat16 tensor
is the float32 tensor of the same name, rounded.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np
import torch

from graph_net.graph import random_bits as bits
from graph_net.graph.recipe import (
    SHRINK,
    Bernoulli,
    Constant,
    Integers,
    Literal,
    Normal,
    Recipe,
    Scalar,
    Uniform,
)
from graph_net.graph.values import DTYPES

LIMIT = 100.0
"""Normal values lie between -LIMIT and LIMIT."""
DEFAULT_STD = 0.1

_CPU_BLOCKS = 16, 96
"""Blocks per chunk, for a small and a large tensor: a large chunk costs fewer calls per value, a
small one less fresh memory. The scratch memory of both stays in cache."""
_DEVICE_BLOCKS = 4096
"""Blocks per chunk on an accelerator: enough work per launch, under 400 MB of scratch memory."""
_MAX_THREADS = 8
"""Beyond this, threads wait for Python's lock as long as they compute."""
_MIN_CHUNKS = 8
"""With fewer chunks, starting threads costs more than it saves."""
_SERIAL_COPY = 1 << 15
"""Elements that torch copies in the calling thread, without waking its thread pool."""
_HUGE_PAGES = 1 << 22
"""Bytes from which numpy asks for huge pages, which halve the cost of touching new memory."""


def draw(
    recipe: Recipe,
    shape: tuple[int, ...],
    dtype: str,
    *,
    name: str,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> torch.Tensor:
    """Return a new contiguous tensor with the recipe's values for this name and seed."""
    if any(size < 0 for size in shape):
        raise ValueError(f"Tensor {name!r}: shape {shape} has a negative size.")
    count = math.prod(shape)
    if isinstance(recipe, Literal) and len(recipe.values) != count:
        values = len(recipe.values)
        raise ValueError(f"Tensor {name!r}: shape {shape} takes {count} values, not {values}.")
    flat = draw_range(recipe, 0, count, dtype, name=name, seed=seed, device=device)
    return flat.reshape(shape)


def draw_range(
    recipe: Recipe,
    start: int,
    stop: int,
    dtype: str,
    *,
    name: str,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> torch.Tensor:
    """Return elements start to stop of the flattened tensor of `draw`, without the others."""
    if not 0 <= start <= stop:
        raise ValueError(f"Tensor {name!r}: {start} to {stop} is not a range.")
    if dtype not in DTYPES or dtype.startswith("q"):
        raise ValueError(f"Tensor {name!r}: no values can be drawn for dtype {dtype!r}.")
    target: torch.dtype = getattr(torch, dtype)
    recipe = simplify_recipe(recipe, target)
    if isinstance(recipe, Literal):
        if stop > len(recipe.values):
            raise ValueError(f"Tensor {name!r}: its literal ends before element {stop}.")
        return _exact(recipe.values[start:stop], target, name).to(device)
    if isinstance(recipe, Constant):
        out = _empty(stop - start, target, torch.device(device))
        return out.copy_(_exact((recipe.value,), target, name))
    parts = 2 if target.is_complex else 1
    out = _empty(parts * (stop - start), target.to_real(), torch.device(device))
    lib = np if out.device.type == "cpu" else torch
    _fill(out, parts * start, plan_of(recipe, out.dtype), bits.stream(name, seed), lib)
    return torch.view_as_complex(out.reshape(-1, 2)) if target.is_complex else out


def simplify_recipe(recipe: Recipe, dtype: torch.dtype) -> Recipe:
    """Return the recipe that is drawn from: a normal without spread becomes a constant."""
    if isinstance(recipe, Normal) and _statistics(recipe)[1] == 0:
        dtype = dtype.to_real()
        mean = _clamp(_statistics(recipe)[0], *_normal_bounds(recipe, dtype))
        return Constant(round(mean) if _is_integer(dtype) else mean)
    return recipe


@dataclass(frozen=True, slots=True)
class DrawPlan:
    """The steps from a stream's words to values: write in dtype, round, clamp."""

    write: partial[None]
    per_word: int
    dtype: str
    rounded: bool = False
    bounds: tuple[float, float] | None = None

    def values(self, space: bits.Workspace, words: bits.Array, out: bits.Array) -> None:
        self.write(space, words, out)
        if self.rounded:
            space.lib.round(out, out=out)
        if self.bounds:
            space.lib.clip(out, *self.bounds, out=out)


def plan_of(recipe: Normal | Uniform | Integers | Bernoulli, dtype: torch.dtype) -> DrawPlan:
    """Return the plan by which values of a real dtype are drawn."""
    if dtype == torch.bool and isinstance(recipe, Normal | Uniform):
        recipe = Bernoulli()
    if isinstance(recipe, Uniform) and _is_integer(dtype):
        low = math.ceil(recipe.low)
        recipe = Integers(low, max(low, math.floor(recipe.high)))
    match recipe:
        case Normal():
            return _normal_plan(recipe, dtype)
        case Uniform():
            limits = _limits(dtype)
            least = _float32(_clamp(recipe.low, *limits))
            most = _float32(_clamp(recipe.high, *limits))
            write = partial(bits.uniform, low=least, step=_float32((most - least) / (1 << 24)))
            return DrawPlan(write, 2, "float32", bounds=(least, most))
        case Integers():
            limits = _limits(dtype)
            if dtype.is_floating_point:  # their range exceeds the 64 bits computed in
                limits = max(limits[0], -(2**62)), min(limits[1], 2**62)
            low, high = (int(_clamp(value, *limits)) for value in (recipe.low, recipe.high))
            narrow = high - low < 1 << 24
            draw = bits.integers if narrow else bits.wide_integers
            write = partial(draw, low=low, count=high - low + 1)
            return DrawPlan(write, 2 if narrow else 1, "int64")
        case Bernoulli():
            return DrawPlan(partial(bits.chances, p=recipe.p), 2, "bool")


def _normal_plan(recipe: Normal, dtype: torch.dtype) -> DrawPlan:
    mean, std = _statistics(recipe)
    low, high = _normal_bounds(recipe, dtype)
    reach = 1.001 * (abs(mean) + SHRINK * std * bits.LARGEST_NORMAL)
    bounds = None if low <= -reach and reach <= high else (low, high)  # skips a useless clamp
    write = partial(bits.normal, mean=_float32(mean), std=SHRINK * std)
    return DrawPlan(write, 4, "float32", _is_integer(dtype), bounds)


def _statistics(recipe: Normal) -> tuple[float, float]:
    """Return mean and std to draw with: recorded ones may be missing or beyond float32."""
    mean = 0.0 if recipe.mean is None or not math.isfinite(recipe.mean) else float(recipe.mean)
    std = DEFAULT_STD if recipe.std is None or not math.isfinite(recipe.std) else float(recipe.std)
    return _clamp(mean, -1e30, 1e30), min(std, 1e30)


def _normal_bounds(recipe: Normal, dtype: torch.dtype) -> tuple[float, float]:
    lowest, highest = _limits(dtype)
    limits = max(-LIMIT, lowest), min(LIMIT, highest)
    low, high = (
        _float32(_clamp(limit if bound is None or math.isnan(bound) else bound, *limits))
        for bound, limit in zip((recipe.low, recipe.high), limits, strict=True)
    )
    return low, high


def _limits(dtype: torch.dtype) -> tuple[float, float]:
    """Return the smallest and the largest value of a real dtype, within float32's range."""
    if dtype == torch.bool:
        return 0, 1
    if _is_integer(dtype):
        return torch.iinfo(dtype).min, torch.iinfo(dtype).max
    info = torch.finfo(torch.float32 if dtype == torch.float64 else dtype)
    return info.min, info.max


def _is_integer(dtype: torch.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _float32(value: float) -> float:
    return float(np.float32(value))


def _exact(values: tuple[Scalar, ...], dtype: torch.dtype, name: str) -> torch.Tensor:
    """Return the values as a flat tensor; raise ValueError if the dtype cannot hold one."""
    try:
        if dtype.is_complex:
            return torch.tensor(values, dtype=torch.complex128).to(dtype)
        if dtype.is_floating_point:
            return torch.tensor([float(value) for value in values], dtype=torch.float64).to(dtype)  # type: ignore[arg-type]
        kind = bool if dtype == torch.bool else int
        exact = [kind(value) for value in values]  # type: ignore[arg-type]
        low, high = _limits(dtype)
        if exact and not low <= min(exact) <= max(exact) <= high:
            raise ValueError(f"{min(exact)} to {max(exact)} is too wide a range")
        return torch.tensor(exact, dtype=dtype)
    except (ValueError, OverflowError, TypeError) as error:
        raise ValueError(f"Tensor {name!r}: a value does not fit {dtype}: {error}.") from error


def _empty(count: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Return uninitialised memory for count elements; large CPU memory in huge pages."""
    size = count * dtype.itemsize
    if device.type != "cpu" or size < _HUGE_PAGES:
        return torch.empty(count, dtype=dtype, device=device)
    raw = np.empty(size + 64, dtype=np.uint8)
    skip = -raw.ctypes.data % 64  # torch aligns to 64 bytes, and kernels are faster for it
    return torch.from_numpy(raw[skip : skip + size]).view(dtype)


def _fill(
    out: torch.Tensor, start: int, plan: DrawPlan, stream: bits.Stream, lib: ModuleType
) -> None:
    """Fill out with the elements from start on, computed by lib: numpy (CPU only) or torch."""
    block = plan.per_word * bits.BLOCK_WORDS
    first, last = start // block, -(-(start + len(out)) // block)
    small, large = _CPU_BLOCKS if lib is np else (_DEVICE_BLOCKS, _DEVICE_BLOCKS)
    step = min(max(small, (last - first) // 16), large, max(1, last - first))
    chunks = range(first, last, step)
    pending = iter(chunks)

    def work() -> None:
        space = bits.Workspace(stream, lib, out.device, step * bits.BLOCK_WORDS)
        for index in pending:  # shared by the workers, so that a slow core delays no other
            words = space.words(index, min(step, last - index))
            _fill_chunk(out, index * block - start, plan, space, words)

    workers = min(torch.get_num_threads(), _MAX_THREADS)
    if workers == 1 or len(chunks) < _MIN_CHUNKS or lib is not np:
        work()
        return
    with ThreadPoolExecutor(workers) as pool:
        for worker in [pool.submit(work) for _ in range(workers)]:
            worker.result()


def _fill_chunk(
    out: torch.Tensor, offset: int, plan: DrawPlan, space: bits.Workspace, words: bits.Array
) -> None:
    """Write the values of the words to out at offset, without those beyond its ends."""
    size = plan.per_word * len(words)
    begin, end = max(offset, 0), min(offset + size, len(out))
    target, by_numpy = out[begin:end], space.lib is np
    if len(target) == size and out.dtype == getattr(torch, plan.dtype):
        plan.values(space, words, target.numpy() if by_numpy else target)
        return
    values = space.array("values", size, plan.dtype)
    plan.values(space, words, values)
    drawn = torch.from_numpy(values) if by_numpy else values
    drawn = drawn[begin - offset : end - offset]
    piece = _SERIAL_COPY if by_numpy else size
    for i in range(0, len(target), piece):
        target[i : i + piece].copy_(drawn[i : i + piece])
