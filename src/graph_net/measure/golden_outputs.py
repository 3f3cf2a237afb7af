"""Outputs that outlive their run: written by a worker, or compared with its outputs.

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
    write_safetensors,
)
from graph_net.measure.verify import Reference, check_outputs
from graph_net.results import Failure, Json

_SCALARS = {"int": int, "float": float, "complex": complex, "str": str}


def store_or_compare(
    golden: Golden, workdir: Path, leaves: Sequence[Any], expected: Reference
) -> dict[str, Json]:
    """Write the outputs to the work directory, or compare them, as the task asks.

    Return the result, as a record's environment holds it.
    """
    if golden.compare:
        return compare_leaves(leaves, Path(golden.path), expected)
    return write_leaves(workdir / GOLDEN_FILE, leaves)


def write_leaves(path: Path, leaves: Sequence[Any]) -> dict[str, Json]:
    """Write leaves; return the hash of the file, and one of each leaf."""
    tensors: list[torch.Tensor] = []
    listed: list[list[str]] = []
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            listed.append([type(leaf).__name__, repr(leaf)])
            continue
        listed.append(["complex_tensor" if leaf.is_complex() else "tensor", str(len(tensors))])
        tensors.append(torch.view_as_real(leaf.resolve_conj()) if leaf.is_complex() else leaf)
    write_safetensors(path, tensors, {"graph_net": "1", "leaves": json.dumps(listed)})
    return {"sha256": hash_of(path), "outputs": [leaf_hash(leaf) for leaf in leaves]}


def read_leaves(path: Path) -> list[Any]:
    """Return the leaves of a golden file; raise SafetensorsError on any other."""
    tensors, metadata = read_safetensors(path)
    try:
        listed = json.loads(metadata["leaves"])
        leaves = [_read_leaf(str(kind), str(text), tensors) for kind, text in listed]
    except (KeyError, ValueError, TypeError, RuntimeError, RecursionError) as error:
        raise SafetensorsError(f"{path.name}: its list of outputs is damaged: {error}") from error
    if sum("tensor" in str(kind) for kind, _ in listed) != len(tensors):
        raise SafetensorsError(f"{path.name}: its list of outputs does not match its tensors")
    return leaves


def _read_leaf(kind: str, text: str, tensors: dict[str, torch.Tensor]) -> Any:
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
    """Compare the leaves of this run with those of a golden file.

    The spread of eager on this machine shows which differences are not the candidate's.
    """
    stored = read_leaves(path)
    device = next((leaf.device for leaf in leaves if isinstance(leaf, torch.Tensor)), None)
    moved = [leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf for leaf in stored]
    spread = expected.spread if len(expected.spread) == len(moved) else (None,) * len(moved)
    reference = replace(expected, outputs=tuple(moved), spread=spread, exact=None)
    outputs, failure = check_outputs(leaves, reference)
    return {
        "outputs": [asdict(output) for output in outputs],
        "failure": None if failure is None else asdict(_reword(failure)),
        "same_bits": [leaf_hash(a) == leaf_hash(b) for a, b in zip(leaves, stored, strict=False)],
        "forms": [[form_of(leaf) for leaf in side] for side in (stored, leaves)],
    }


def _reword(failure: Failure) -> Failure:
    """Return the failure with a message that names what the outputs were compared with."""
    message = failure.message.replace("but eager", "but eager here")
    return replace(failure, message=f"against the reference: {message}")


def form_of(leaf: Any) -> Json:
    """Return the dtype and shape of an output."""
    if isinstance(leaf, torch.Tensor):
        return [str(leaf.dtype).removeprefix("torch."), list(leaf.shape)]
    return [type(leaf).__name__, []]


def leaf_hash(leaf: Any) -> str:
    """Return a hash that is equal for outputs of equal dtype, shape and bits."""
    if not isinstance(leaf, torch.Tensor):
        return sha256(f"{type(leaf).__name__} {leaf!r}".encode()).hexdigest()
    state = sha256(f"{leaf.dtype} {tuple(leaf.shape)} ".encode())
    state.update(bytes_of(torch.view_as_real(leaf.resolve_conj()) if leaf.is_complex() else leaf))
    return state.hexdigest()
