"""Files of the in-context ranker: its weights and training sets, for a machine with a GPU.

Such a machine may have only torch and numpy, so both files are written with those; weights are read
by safetensors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from torch import Tensor

from graph_net.learn.learning_set import LearnError, LearningSet, LearningTask
from graph_net.learn.metrics import TaskCosts
from graph_net.results.codec import read_as
from graph_net.store.atomic import open_atomic, write_bytes
from graph_net.store.files import read_bytes

MOST_BYTES = 4 << 30
DTYPES = {np.dtype(np.float32): "F32", np.dtype(np.int64): "I64"}
ARRAYS = "rows starts costs tasks described".split()


@dataclass(frozen=True)
class SetHeader:
    """The fields of a stored set besides its arrays."""

    columns: tuple[str, ...]
    tasks: tuple[LearningTask, ...]


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors in the safetensors format: a JSON header, then the bytes of each."""
    arrays = {name: np.ascontiguousarray(value.cpu().numpy()) for name, value in tensors.items()}
    header, end = {}, 0
    for name, array in arrays.items():
        place = [end, end + array.nbytes]
        header[name] = {
            "dtype": DTYPES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": place,
        }
        end = place[1]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(array.tobytes() for array in arrays.values())
    write_bytes(path, len(text).to_bytes(8, "little") + text + data)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file; raise LearnError on anything else."""
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load
    except ImportError as error:
        raise LearnError("safetensors is not installed: pip install safetensors") from error
    try:
        return dict(load(read_bytes(path, MOST_BYTES)))
    except SafetensorError as error:
        raise LearnError(f"{path} is not a file of safetensors: {error}") from error


def write_sets(path: Path, sets: Mapping[str, LearningSet]) -> None:
    """Write sets, by name, into one .npz file."""
    arrays: dict[str, np.ndarray] = {}
    for name, data in sets.items():
        header = json.dumps(asdict(SetHeader(data.columns, data.tasks))).encode()
        stored = (data.rows, data.starts, data.programs.costs, data.programs.tasks)
        values: tuple[np.ndarray, ...] = (*stored, np.frombuffer(header, np.uint8))
        arrays |= {f"{name}/{array}": v for array, v in zip(ARRAYS, values, strict=True)}
    with open_atomic(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def read_sets(path: Path) -> dict[str, LearningSet]:
    """Return the sets of a file written by ``write_sets``; nothing is unpickled."""
    try:
        with np.load(BytesIO(read_bytes(path, MOST_BYTES)), allow_pickle=False) as file:
            names = dict.fromkeys(key.rpartition("/")[0] for key in file.files)
            return {name: _set([file[f"{name}/{array}"] for array in ARRAYS]) for name in names}
    except (ValueError, KeyError, EOFError, BadZipFile) as error:
        raise LearnError(f"{path} holds no sets to learn from: {error}") from error


def _set(arrays: list[np.ndarray]) -> LearningSet:
    rows, starts, costs, tasks, header = arrays
    described = read_as(SetHeader, header.tobytes(), "description of a set")
    programs = TaskCosts.of(costs, tasks)
    return LearningSet(described.columns, rows, starts, programs, described.tasks)
