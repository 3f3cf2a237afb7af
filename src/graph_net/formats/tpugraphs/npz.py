"""npz files read with limits: only numbers, nothing is unpickled, and no header is trusted.

A header says how large an array is. Exactly that many bytes are read, and only if the limit of the
array allows it. Large arrays are read some rows at a time.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from graph_net.store.files import open_regular
from graph_net.store.lines import ReadError

MAGIC = b"\x93NUMPY"
MOST_HEADER = 4096
MOST_MEMBERS = 64
MOST_BY_COLUMN = 1 << 30
"""The most bytes of an array that cannot be read row by row."""
_HEADER = re.compile(
    r"\{'descr': '([<|][fiu][1248])', 'fortran_order': (False|True), 'shape': \(([0-9, ]*)\), \}\s*"
)
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)


@dataclass(frozen=True)
class ArrayLimit:
    """The dtype and shape that an array must have; None in the shape allows any size."""

    dtype: str
    shape: tuple[int | None, ...]
    most: int
    """The most bytes of the whole array."""


@dataclass(frozen=True)
class NpyHeader:
    """The dtype and shape that an array claims to have."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"] = "C"

    @property
    def bytes(self) -> int:
        """How many bytes its values take."""
        return int(self.dtype.itemsize) * prod(self.shape)


class NpzReader:
    """The arrays of an open npz file, by name."""

    def __init__(self, archive: zipfile.ZipFile, limits: Mapping[str, ArrayLimit]) -> None:
        self._archive, self._limits = archive, limits
        infos = archive.infolist()
        if len(infos) > MOST_MEMBERS:
            raise ReadError(f"it has {len(infos)} arrays, more than {MOST_MEMBERS}")
        self.names = frozenset(info.filename.removesuffix(".npy") for info in infos)

    def read(self, name: str) -> NDArray[Any]:
        """Return a whole array."""
        with self._open(name) as (file, header):
            data = _take(file, header.bytes, name)
            _require_end(file, name)
            return np.frombuffer(data, header.dtype).reshape(header.shape, order=header.order)

    def rows(self, name: str, at_once: int = 8 << 20) -> Iterator[NDArray[Any]]:
        """Yield an array some rows at a time, about ``at_once`` bytes of them."""
        with self._open(name) as (file, header):
            if header.order == "F" and prod(header.shape[1:]) > 1:
                yield self._whole(name, header)
                return
            count, *rest = header.shape
            row = max(1, int(header.dtype.itemsize) * prod(rest))
            step = max(1, at_once // row)
            for start in range(0, count, step):
                size = min(step, count - start)
                data = _take(file, size * row if prod(rest) else 0, name)
                yield np.frombuffer(data, header.dtype).reshape(size, *rest)
            _require_end(file, name)

    def _whole(self, name: str, header: NpyHeader) -> NDArray[Any]:
        if header.bytes > MOST_BY_COLUMN:
            raise ReadError(
                f"{name} is stored column by column and takes {header.bytes} bytes: write it in C "
                "order (numpy.ascontiguousarray)"
            )
        return self.read(name)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape that an array claims to have."""
        with self._open(name) as (_, header):
            return header.shape

    @contextmanager
    def _open(self, name: str) -> Iterator[tuple[IO[bytes], NpyHeader]]:
        if name not in self.names:
            raise ReadError(f"it has no array {name}")
        with self._archive.open(f"{name}.npy") as file:
            yield file, _header(file, name, self._limits[name])


@contextmanager
def open_npz(path: Path, limits: Mapping[str, ArrayLimit]) -> Iterator[NpzReader]:
    """Open an npz; raise ReadError, naming the file, if it is damaged or does not match."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            yield NpzReader(archive, limits)
    except ReadError as error:
        raise ReadError(f"{path} is not TpuGraphs' npz: {error}") from error
    except _BROKEN as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise ReadError(f"{path} is not a whole npz: {error}") from error
    except (KeyError, ValueError, UnicodeError, MemoryError, zipfile.LargeZipFile) as error:
        raise ReadError(f"{path} is not a whole npz: {error}") from error


def _header(file: IO[bytes], name: str, limit: ArrayLimit) -> NpyHeader:
    start = file.read(8)
    if start[:6] != MAGIC or len(start) < 8 or start[6] not in (1, 2):
        raise ReadError(f"{name} is not an array")
    width = 2 if start[6] == 1 else 4
    size = int.from_bytes(file.read(width), "little")
    if size > MOST_HEADER:
        raise ReadError(f"{name} has a header of {size} bytes")
    match = _HEADER.fullmatch(_take(file, size, name).decode("latin-1"))
    if match is None:
        raise ReadError(f"{name} is not an array of plain numbers")
    shape = tuple(int(word) for word in match[3].replace(",", " ").split()[:8])
    header = NpyHeader(np.dtype(match[1]), shape, "F" if match[2] == "True" else "C")
    _check(header, name, limit)
    return header


def _check(header: NpyHeader, name: str, limit: ArrayLimit) -> None:
    fits = len(header.shape) == len(limit.shape) and all(
        wanted is None or size == wanted
        for size, wanted in zip(header.shape, limit.shape, strict=True)
    )
    if header.dtype != np.dtype(limit.dtype) or not fits:
        wanted = ", ".join("any" if size is None else str(size) for size in limit.shape)
        raise ReadError(
            f"{name} is {header.dtype} {header.shape}, not {np.dtype(limit.dtype)} ({wanted})"
        )
    if header.bytes > limit.most:
        raise ReadError(f"{name} would take {header.bytes} bytes, the limit is {limit.most}")


def _take(file: IO[bytes], size: int, name: str) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise ReadError(f"{name} ends after {len(data)} of {size} bytes")
    return data


def _require_end(file: IO[bytes], name: str) -> None:
    if file.read(1):
        raise ReadError(f"{name} has more bytes than its header says")
