"""Outputs that outlive their run: written by a worker, or compared with its own.

A golden file is in the safetensors format. Its metadata lists the leaves of the outputs in order,
so that numbers and None between the tensors come back too; complex tensors, which the format does
not know, are stored as pairs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from graph_net.measure.golden import GOLDEN_FILE, Golden, hash_of
from graph_net.measure.safetensors import (
    SafetensorsError,
    bytes_of,
    read_safetensors,
    storable,
    write_safetensors,
)
from graph_net.measure.verify import Reference, check
from graph_net.results import Failure, Json

_SCALARS = {"int": int, "float": float, "complex": complex, "str": str}


def meet(
    golden: Golden, workdir: Path, leaves: Sequence[Any], expected: Reference
) -> dict[str, Json]:
    """Write to the work directory, or compare, as a task asks, and say what came of it."""
    if golden.compare:
        return compare_leaves(leaves, Path(golden.path), expected)
    return write_leaves(workdir / GOLDEN_FILE, leaves)


def write_leaves(path: Path, leaves: Sequence[Any]) -> dict[str, Json]:
    """Write leaves; the hash of the file, and one of each leaf."""
    tensors: list[torch.Tensor] = []
    listed: list[list[str]] = []
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            listed.append([type(leaf).__name__, repr(leaf)])
            continue
        listed.append(["complex_tensor" if leaf.is_complex() else "tensor", str(len(tensors))])
        tensors.append(torch.view_as_real(leaf.resolve_conj()) if leaf.is_complex() else leaf)
    strange = next((tensor.dtype for tensor in tensors if not storable(tensor.dtype)), None)
    if strange is not None:
        raise SafetensorsError(f"outputs of {strange} cannot be stored")
    write_safetensors(path, tensors, {"graph_net": "1", "leaves": json.dumps(listed)})
    return {"sha256": hash_of(path), "outputs": [leaf_hash(leaf) for leaf in leaves]}


def read_leaves(path: Path) -> list[Any]:
    """The leaves of a golden file; raises SafetensorsError on any other."""
    tensors, metadata = read_safetensors(path)
    try:
        listed = json.loads(metadata["leaves"])
        leaves = [_leaf(str(kind), str(text), tensors) for kind, text in listed]
    except (KeyError, ValueError, TypeError, RuntimeError, RecursionError) as error:
        raise SafetensorsError(f"{path.name}: its list of outputs is damaged: {error}") from error
    if sum("tensor" in str(kind) for kind, _ in listed) != len(tensors):
        raise SafetensorsError(f"{path.name}: its list of outputs is not that of its tensors")
    return leaves


def _leaf(kind: str, text: str, tensors: dict[str, torch.Tensor]) -> Any:
    if kind == "tensor":
        return tensors[text]
    if kind == "complex_tensor":
        return torch.view_as_complex(tensors[text])
    if kind == "NoneType":
        return None
    if kind == "bool":
        return text == "True"
    return _SCALARS[kind](text)


def compare_leaves(leaves: Sequence[Any], path: Path, expected: Reference) -> dict[str, Json]:
    """The leaves of this run against those of a golden file.

    How far eager is from itself here says which differences are nobody's fault.
    """
    stored = read_leaves(path)
    device = next((leaf.device for leaf in leaves if isinstance(leaf, torch.Tensor)), None)
    moved = [leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf for leaf in stored]
    spread = expected.spread if len(expected.spread) == len(moved) else (None,) * len(moved)
    reference = replace(expected, outputs=tuple(moved), spread=spread, exact=None)
    outputs, failure = check(leaves, reference)
    return {
        "outputs": [asdict(output) for output in outputs],
        "failure": None if failure is None else asdict(_plain(failure)),
        "same_bits": [leaf_hash(a) == leaf_hash(b) for a, b in zip(leaves, stored, strict=False)],
        "forms": [[_form(leaf) for leaf in each] for each in (stored, leaves)],
    }


def _plain(failure: Failure) -> Failure:
    """The failure with words that name what it was compared with."""
    said = failure.message.replace("but eager", "but eager here")
    return replace(failure, message=f"against the reference: {said}")


def _form(leaf: Any) -> Json:
    if isinstance(leaf, torch.Tensor):
        return [str(leaf.dtype).removeprefix("torch."), list(leaf.shape)]
    return [type(leaf).__name__, []]


def leaf_hash(leaf: Any) -> str:
    """Equal for outputs of one dtype and shape whose bits are equal."""
    if not isinstance(leaf, torch.Tensor):
        return sha256(f"{type(leaf).__name__} {leaf!r}".encode()).hexdigest()
    state = sha256(f"{leaf.dtype} {tuple(leaf.shape)} ".encode())
    state.update(bytes_of(torch.view_as_real(leaf.resolve_conj()) if leaf.is_complex() else leaf))
    return state.hexdigest()
