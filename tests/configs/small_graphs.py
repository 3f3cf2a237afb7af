"""Small graphs with layouts and tiles, and npz and protobuf files made from scratch."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from graph_net.formats.tpugraphs.opcodes import CONVOLUTION, NUMBERS

Arrays = dict[str, Any]


def layout_arrays(runs: int = 24, seed: int = 0) -> Arrays:
    """The arrays of a layout file: six nodes, two of them convolutions with four settings."""
    draw = np.random.default_rng(seed)
    features = np.zeros((6, 140), np.float32)
    features[:, 13] = 1  # f32
    features[:, 21:25] = (8, 16, 128, 4)
    features[:, 134:138] = (3, 2, 1, 0)
    opcodes = np.array([63, CONVOLUTION, NUMBERS["add"], 63, CONVOLUTION, NUMBERS["tuple"]])
    settings = np.full((4, 18), -1, np.float32)
    settings[:, :2] = [(0, 1), (1, 0), (2, 1), (3, 2)]
    settings[:, 6:8] = [(0, 1), (0, 1), (2, 1), (3, 2)]
    codes = draw.integers(0, 4, (runs, 2))
    codes[-2:] = codes[:2]  # repeats
    times = 10_000 + 1_000 * codes[:, 0] + 100 * codes[:, 1] + draw.integers(0, 5, runs)
    return {
        "node_feat": features,
        "node_opcode": opcodes.astype(np.uint8),
        "edge_index": np.array([(1, 0), (2, 1), (4, 2), (4, 3), (5, 4)], np.int64),
        "node_config_ids": np.array([1, 4], np.int64),
        "node_config_feat": settings[codes],
        "config_runtime": times.astype(np.int64),
        "node_splits": np.array([[0, 6]], np.int64),
    }


def tile_arrays(runs: int = 12, seed: int = 0) -> Arrays:
    """The arrays of a tile file: a copy with bounds of two dimensions."""
    draw = np.random.default_rng(seed)
    bounds = draw.integers(1, 9, (runs, 2))
    rows = np.zeros((runs, 24), np.float32)
    rows[:, 8:10] = bounds
    rows[:, 14], rows[:, 15] = bounds.sum(axis=1), bounds.prod(axis=1)
    tiles = np.ceil(8 / bounds).prod(axis=1)
    arrays = layout_arrays()
    return {
        "node_feat": arrays["node_feat"][:2],
        "node_opcode": np.array([63, NUMBERS["copy"]], np.uint8),
        "edge_index": np.array([(1, 0)], np.int64),
        "config_feat": rows,
        "config_runtime": (1000 * tiles).astype(np.int64) + 500,
        "config_runtime_normalizers": np.full(runs, 1500, np.int64),
    }


def write_npz(path: Path, arrays: Arrays) -> Path:
    """Write arrays as numpy does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
    return path


def write_members(path: Path, members: dict[str, bytes]) -> Path:
    """Write an archive with exactly these bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def npy_bytes(array: Any, **changes: str) -> bytes:
    """An array as npy, words of its header replaced."""
    file = io.BytesIO()
    np.save(file, array)
    data = file.getvalue()
    for old, new in changes.items():
        data = data.replace(old.encode(), new.encode())
    return data
