"""Tensors from recipes: the same values on every machine, in any order, in any subset.

Values depend on the recipe, the dtype, the name and the seed; not on the device, the number of
threads, or which part is asked for. They are computed in float32 or int64 and cast, so a
bfloat16 tensor is the float32 tensor of the same name, rounded.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from graph_net.graph import random_bits as bits
from graph_net.graph.recipe import (
    Bernoulli,
    Constant,
    Integers,
    Literal,
    Normal,
    Recipe,
    Scalar,
    Uniform,
)

SHRINK = 0.2
"""Normal values are drawn at this part of the recorded std, as GraphNet does: deep graphs with
random weights stay in range."""
LIMIT = 100.0
"""Normal values lie between -LIMIT and LIMIT."""
DEFAULT_STD = 0.1

_CPU_BLOCKS = 16
"""Blocks a chunk: with its scratch memory it fits a core's second-level cache."""
_DEVICE_BLOCKS = 1024
"""Blocks a chunk on an accelerator: enough work a launch, about 80 MB of scratch memory."""
_THREAD_CHUNKS = 8
"""Chunks below which starting threads costs more than it saves."""
_SERIAL_COPY = 1 << 15
"""Elements up to which torch copies in the calling thread, without its own thread pool."""
_HUGE_PAGES = 1 << 22
"""Bytes from which numpy asks for huge pages: first use of the memory is then twice as fast."""
_FLOAT_DTYPES = "float16 bfloat16 float32 float64".split()
_FLOAT8_DTYPES = "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split()
_INTEGER_DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
_COMPLEX_DTYPES = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_DTYPES = (*_FLOAT_DTYPES, *_FLOAT8_DTYPES, *_INTEGER_DTYPES, *_COMPLEX_DTYPES, "bool")


def draw(
    recipe: Recipe,
    shape: tuple[int, ...],
    dtype: str,
    *,
    name: str,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> torch.Tensor:
    """A new contiguous tensor with the recipe's values for this name and seed."""
    if any(size < 0 for size in shape):
        raise ValueError(f"Tensor {name!r}: shape {shape} has a negative size.")
    count = math.prod(shape)
    if isinstance(recipe, Literal) and len(recipe.values) != count:
        raise ValueError(
            f"Tensor {name!r}: shape {shape} takes {count} values, "
            f"but its literal has {len(recipe.values)}."
        )
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
    """Elements start to stop of the flattened tensor that `draw` gives, without the others."""
    device = torch.device(device)
    if not 0 <= start <= stop:
        raise ValueError(f"Tensor {name!r}: no range from {start} to {stop}.")
    if dtype not in _DTYPES:
        raise ValueError(f"Tensor {name!r}: no dtype {dtype!r}. Known: {', '.join(_DTYPES)}.")
    if isinstance(recipe, Literal):
        if stop > len(recipe.values):
            raise ValueError(f"Tensor {name!r}: its literal ends before element {stop}.")
        return _exact(recipe.values[start:stop], dtype, name).to(device)
    if isinstance(recipe, Normal) and _statistics(recipe)[1] == 0:
        recipe = Constant(_clamp(_statistics(recipe)[0], *_normal_bounds(recipe, "float64")))
    if isinstance(recipe, Constant):
        value = _exact((recipe.value,), dtype, name).to(device)
        return value.repeat(stop - start)
    if dtype in _COMPLEX_DTYPES:
        part = _COMPLEX_DTYPES[dtype]
        flat = draw_range(recipe, 2 * start, 2 * stop, part, name=name, seed=seed, device=device)
        return torch.view_as_complex(flat.reshape(-1, 2))
    out = _empty(stop - start, getattr(torch, dtype), device)
    _fill(out, start, _plan(recipe, dtype), bits.stream(name, seed))
    return out
