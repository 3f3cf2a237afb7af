"""A conformance kit for model zoos: call ``check_zoo`` in a test.

Each check raises ``ZooDefect`` with the entry concerned and the remedy.
"""

from __future__ import annotations

import random
from hashlib import sha256
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from graph_net.capture.weights import without_weights
from graph_net.capture.worker import capture_entry
from graph_net.capture.zoo.zoo import CATEGORIES, Call, Zoo, ZooEntry
from graph_net.graph import from_bytes


class ZooDefect(AssertionError):
    """A zoo violates the protocol ``graph_net.capture.zoo.Zoo``."""


def check_zoo(zoo: Zoo, sample: int = 5, seed: int = 0) -> tuple[ZooEntry, ...]:
    """Return the entries, sampled by the seed, that were built and captured without a defect."""
    entries = check_entries(zoo)
    chosen = random.Random(seed).sample(entries, min(sample, len(entries)))  # noqa: S311
    for entry in chosen:
        check_build(zoo, entry)
        check_capture(zoo, entry)
    return tuple(chosen)


def check_entries(zoo: Zoo) -> tuple[ZooEntry, ...]:
    """Return all entries; raise unless names are unique, words known, and the order fixed."""
    entries = tuple(zoo.entries())
    if not entries:
        raise ZooDefect(f"{zoo.library}: names no model; entries() must yield at least one")
    names: set[str] = set()
    for entry in entries:
        _check_description(zoo, entry)
        if entry.name in names:
            raise _defect(entry, "is named twice; a result is found by its name, make them differ")
        names.add(entry.name)
    again = tuple(zoo.entries())
    for entry, other in zip(entries, again, strict=False):
        if entry != other:
            raise _defect(entry, f"is {other.name!r} when enumerated again; use a fixed order")
    if len(entries) != len(again):
        raise ZooDefect(
            f"{zoo.library}: {len(entries)} entries, {len(again)} when asked again; "
            "entries() must not depend on what was enumerated before"
        )
    return entries


def check_build(zoo: Zoo, entry: ZooEntry) -> Call:
    """Return what an entry builds; raise unless it is deterministic, in eval mode, weightless."""
    call, again = _build(zoo, entry), _build(zoo, entry)
    if call.model.training:
        raise _defect(entry, "is in training mode; return model.eval()")
    for name, parameter in call.model.named_parameters():
        if parameter.device.type != "meta":
            raise _defect(
                entry,
                f"holds memory for the parameter {name!r}; make the model inside build(), "
                "which is called without weights, and load nothing",
            )
    first, second = _outline(call), _outline(again)
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) != second.get(name):
            raise _defect(
                entry,
                f"is not the same when built again: {name} is {first.get(name)}, "
                f"then {second.get(name)}; take random numbers out of build()",
            )
    return call


def check_capture(zoo: Zoo, entry: ZooEntry) -> None:
    """Raise unless an entry is captured and its graphs have its provenance."""
    result, blobs = capture_entry(zoo, entry)
    if not result.ok:
        raise _defect(entry, f"cannot be captured: {result.reason}")
    for origin in (from_bytes(data).provenance for data in blobs):
        fields = (origin.library, origin.model, origin.category, origin.subcategory, origin.tags)
        if fields != (entry.library, *_description(entry)):
            raise _defect(entry, f"became a graph with the provenance {fields}")


def _check_description(zoo: Zoo, entry: ZooEntry) -> None:
    if entry.library != zoo.library:
        raise _defect(entry, f"is of a library other than its zoo, {zoo.library!r}")
    if not entry.name or entry.name != entry.name.strip():
        raise _defect(entry, "has a name that is empty or begins or ends in space")
    if entry.category not in CATEGORIES:
        known = ", ".join(CATEGORIES)
        raise _defect(entry, f"has the unknown category {entry.category!r}; known: {known}")
    are_texts = isinstance(entry.tags, tuple) and all(isinstance(tag, str) for tag in entry.tags)
    if not are_texts or not all(tag and tag == tag.strip() for tag in entry.tags):
        raise _defect(entry, f"has the tags {entry.tags!r}; tags are a tuple of words")
    if len(set(entry.tags)) < len(entry.tags):
        raise _defect(entry, f"repeats a tag: {entry.tags!r}")


def _description(entry: ZooEntry) -> tuple[Any, ...]:
    return entry.name, entry.category, entry.subcategory, entry.tags


def _build(zoo: Zoo, entry: ZooEntry) -> Call:
    try:
        with without_weights():
            return zoo.build(entry)
    except Exception as error:
        raise _defect(entry, f"cannot be built: {type(error).__name__}: {error}") from error


def _outline(call: Call) -> dict[str, Any]:
    """Return what two builds must share: shapes and types of the state, and the inputs."""
    state = [*call.model.named_parameters(), *call.model.named_buffers()]
    outline: dict[str, Any] = {name: _spec(tensor) for name, tensor in state}
    leaves, shape = tree_flatten((call.args, dict(call.kwargs)))
    outline["the shape of the call"] = str(shape)
    for index, leaf in enumerate(leaves):
        outline[f"input {index}"] = _value(leaf)
    return outline


def _spec(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), str(tensor.dtype)


def _value(leaf: Any) -> Any:
    """Return a comparable form of an input, equal for equal tensors."""
    if not isinstance(leaf, torch.Tensor):
        return repr(leaf)
    if leaf.device.type == "meta":
        return _spec(leaf)
    data = leaf.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    return (*_spec(leaf), sha256(data.tobytes()).hexdigest()[:8])


def _defect(entry: ZooEntry, problem: str) -> ZooDefect:
    return ZooDefect(f"{entry.library}/{entry.name} {problem}")
