"""Tensors in the safetensors format: eight bytes of length, a JSON header, raw bytes.

Written and read without the library of that name, because measuring needs torch, numpy and the
standard library alone. A file may come from anywhere: every number in its header is checked before
a byte of a tensor is read, and nothing in it is ever executed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import torch

from graph_net.store.atomic import open_atomic
from graph_net.store.files import open_regular

_NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint64: "U64",
    torch.uint32: "U32",
    torch.uint16: "U16",
    torch.uint8: "U8",
    torch.bool: "BOOL",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
_METADATA = "__metadata__"
ALIGNED = 8


class SafetensorsError(ValueError):
    """A file that is not in the safetensors format, or a tensor that does not fit it."""


@dataclass(frozen=True, slots=True)
class FileLimits:
    """How much an untrusted file may cost to read."""

    bytes: int = 32 << 30
    header: int = 16 << 20
    tensors: int = 65_536
    dimensions: int = 64


DEFAULT_LIMITS = FileLimits()


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


def write_safetensors(
    path: Path, tensors: Sequence[torch.Tensor], metadata: Mapping[str, str]
) -> None:
    """Write tensors, named ``0``, ``1``, …; the file appears complete or not at all."""
    header: dict[str, Any] = {_METADATA: dict(metadata)}
    begin = 0
    for number, tensor in enumerate(tensors):
        if tensor.dtype not in _NAMES:
            raise SafetensorsError(
                f"outputs of {tensor.dtype} cannot be stored: safetensors has no name for it"
            )
        end = begin + tensor.numel() * tensor.element_size()
        shape = list(tensor.shape)
        header[str(number)] = {
            "dtype": _NAMES[tensor.dtype], "shape": shape, "data_offsets": [begin, end],
        }  # fmt: skip
        begin = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNED)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_atomic(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors:
            file.write(bytes_of(tensor))


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """Return the elements of a tensor in order, as bytes."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().data if flat.numel() else memoryview(b"")


def read_safetensors(
    path: Path, limits: FileLimits = DEFAULT_LIMITS
) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Return the tensors of a file by name, and its metadata; raise SafetensorsError otherwise."""
    try:
        with open_regular(path) as file:
            entries, metadata, start = _read_header(file, limits)
            return {entry.name: _read_tensor(file, entry, start) for entry in entries}, metadata
    except SafetensorsError as error:
        raise SafetensorsError(f"{path.name}: {error}") from error


def _read_header(file: BinaryIO, limits: FileLimits) -> tuple[list[_Entry], dict[str, str], int]:
    size = os.fstat(file.fileno()).st_size
    _require(8 <= size <= limits.bytes, f"its size, {size} bytes, is not in 8..{limits.bytes}")
    length = int.from_bytes(file.read(8), "little")
    _require(length <= min(limits.header, size - 8), f"its header cannot be {length} bytes")
    try:
        tree = json.loads(file.read(length), object_pairs_hook=_reject_duplicates)
    except (ValueError, RecursionError) as error:
        raise SafetensorsError(f"its header is not JSON: {error}") from error
    _require(isinstance(tree, dict), "its header is not a JSON object")
    metadata = tree.pop(_METADATA, {})
    texts = isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values())
    _require(texts, "its metadata is not an object of strings")
    _require(len(tree) <= limits.tensors, f"it has {len(tree)} tensors; limit {limits.tensors}")
    entries = sorted(
        (_parse_entry(name, value, limits) for name, value in tree.items()),
        key=lambda entry: (entry.begin, entry.end),
    )
    end = 0
    for entry in entries:
        _require(entry.begin == end, f"tensor {entry.name!r} begins at {entry.begin}, not {end}")
        end = entry.end
    _require(8 + length + end == size, "it is longer or shorter than its header says")
    return entries, metadata, 8 + length


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    _require(len(tree) == len(pairs), "its header has a name twice")
    return tree


def _parse_entry(name: str, value: Any, limits: FileLimits) -> _Entry:
    label = f"tensor {name!r}"
    _require(isinstance(value, dict), f"{label} is not an object")
    dtype, shape, offsets = (value.get(key) for key in ("dtype", "shape", "data_offsets"))
    _require(isinstance(dtype, str) and dtype in _DTYPES, f"{label} has an unknown dtype")
    _require(_are_counts(shape) and len(shape) <= limits.dimensions, f"{label} has no valid shape")
    _require(_are_counts(offsets) and len(offsets) == 2, f"{label} has no valid offsets")
    entry = _Entry(name, _DTYPES[dtype], tuple(shape), *offsets)
    size = prod(entry.shape) * entry.dtype.itemsize
    _require(entry.end - entry.begin == size, f"{label} has a size that does not match its shape")
    return entry


def _are_counts(value: Any) -> bool:
    return isinstance(value, list) and all(
        type(item) is int and 0 <= item < 1 << 62 for item in value
    )


def _read_tensor(file: BinaryIO, entry: _Entry, start: int) -> torch.Tensor:
    size = entry.end - entry.begin
    if not size:
        return torch.empty(entry.shape, dtype=entry.dtype)
    buffer = bytearray(size)
    file.seek(start + entry.begin)
    _require(file.readinto(buffer) == size, f"tensor {entry.name!r} is cut short")  # type: ignore[attr-defined]
    return torch.frombuffer(buffer, dtype=torch.uint8).view(entry.dtype).reshape(entry.shape)


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise SafetensorsError(why)
