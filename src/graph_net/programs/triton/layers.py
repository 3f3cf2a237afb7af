"""Layers as modules of this space, under the names that networks use."""

from __future__ import annotations

from typing import Any

Module = dict[str, Any]


def linear(m: int, n: int, k: int, dtype: str, epilogue: str = "bias") -> Module:
    """Return a linear layer with a weight of N × K."""
    sizes = {"m": m, "n": n, "k": k}
    return {"kernel": "matmul", **sizes, "dtype": dtype, "epilogue": epilogue, "transposed": True}


def batched(b: int, m: int, n: int, k: int, dtype: str, transposed: bool) -> Module:
    """Return a product per head: queries with keys (transposed), weights with values (not)."""
    sizes = {"b": b, "m": m, "n": n, "k": k}
    options = {"epilogue": "none", "transposed": transposed}
    return {"kernel": "batched_matmul", **sizes, "dtype": dtype, **options}


def conv(
    n: int, size: int, c: int, k: int, filter: int, dtype: str, epilogue: str, stride: int = 1
) -> Module:
    """Return a convolution of square images with square filters, padded to keep the size."""
    pad = 0 if filter == stride else filter // 2
    sizes = {"n": n, "h": size, "w": size, "c": c, "k": k, "r": filter, "s": filter}
    options = {"stride": stride, "pad": pad, "dtype": dtype, "epilogue": epilogue}
    return {"kernel": "convolution", **sizes, **options}


def along(kernel: str, rows: int, columns: int, dtype: str) -> Module:
    """Return an operator along rows."""
    dtype = "float32" if dtype == "tf32" else dtype
    return {"kernel": kernel, "rows": rows, "columns": columns, "dtype": dtype}
