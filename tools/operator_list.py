"""Writes src/graph_net/graph/operators/aten.txt from the schemas of the torch that is installed.

Overloads that this torch lacks and an earlier run listed are kept unless the review now refuses
them: a graph written with one version is readable with another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from graph_net.graph.allow_list import overloads_in
from tools.operator_families import (
    ARGUMENTS,
    FAMILIES,
    OVERLOADS_REFUSED,
    POINTWISE,
    PRIVATE,
    REST,
    VIEWS,
    WITHOUT_TENSORS,
    is_refused,
)

OUTPUT = Path(__file__).parents[1] / "src/graph_net/graph/operators/aten.txt"
HEAD = """\
# ATen overloads that a graph may call: `packet: overload overload`, by family.
# Made by `python -m tools.allow_list`; the review is tools/operator_families.py.
"""


def write() -> int:
    """Write the list; return how many overloads it holds."""
    found = dict(_reviewed())
    if OUTPUT.exists():
        for name in overloads_in(OUTPUT.read_text("utf-8")):
            if name not in found and not _exists(name) and may_be_listed(name):
                found[name] = _family(name.partition(".")[0]) or REST
    OUTPUT.write_text(_text(found), "utf-8")
    return len(found)


def may_be_listed(name: str) -> bool:
    """Whether the review lets an overload (``add.Tensor``) in, by its name alone."""
    packet = name.partition(".")[0]
    reviewed = packet in PRIVATE if packet.startswith("_") else not is_refused(packet)
    return reviewed and OVERLOADS_REFUSED.fullmatch(name) is None


def _reviewed() -> list[tuple[str, str]]:
    listed = []
    for schema in torch._C._jit_get_all_schemas():
        space, _, packet = schema.name.partition("::")
        name = f"{packet}.{schema.overload_name or 'default'}"
        if space != "aten" or not may_be_listed(name) or not _exists(name):
            continue
        # What the dispatcher does not know belongs to TorchScript alone.
        known = torch._C._dispatch_has_kernel(f"aten::{name.removesuffix('.default')}")
        if known and _is_plain(schema, packet):
            listed.append((name, _family(packet) or _by_tags(packet, schema)))
    return listed


def _is_plain(schema: Any, packet: str) -> bool:
    """Whether a schema takes nothing but ARGUMENTS, and computes with tensors."""
    types = [str(argument.type) for argument in schema.arguments]
    if not ARGUMENTS.issuperset(types):
        return False
    if any(a.kwarg_only and a.alias_info and a.alias_info.is_write for a in schema.arguments):
        return False  # an `out` argument
    types += [str(result.type) for result in schema.returns]
    return any("Tensor" in kind for kind in types) or packet in PRIVATE | WITHOUT_TENSORS


def _exists(name: str) -> bool:
    packet, _, overload = name.partition(".")
    return hasattr(getattr(torch.ops.aten, packet, None), overload)


def _family(packet: str) -> str | None:
    if not packet.startswith("__"):
        packet = packet.removesuffix("_")
    return next((f.title for f in FAMILIES if f.pattern.fullmatch(packet)), None)


def _by_tags(packet: str, schema: Any) -> str:
    if any(torch.Tag.pointwise in overload.tags for overload in _twins(packet)):
        return POINTWISE
    aliases = [result.alias_info for result in schema.returns if result.alias_info is not None]
    return VIEWS if any(not alias.is_write for alias in aliases) else REST


def _twins(packet: str) -> Iterator[Any]:
    """The overloads of a packet, and those of the one that it is the in-place form of."""
    for name in {packet, packet.removesuffix("_")}:
        found = getattr(torch.ops.aten, name, None)
        if found is not None:
            yield from (getattr(found, overload) for overload in found.overloads())


def _text(found: dict[str, str]) -> str:
    families: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, family in found.items():
        packet, _, overload = name.partition(".")
        families[family][packet].append(overload)
    order = [*(family.title for family in FAMILIES), POINTWISE, VIEWS, REST]
    parts = [HEAD]
    for title in order:
        lines = [f"{p}: {' '.join(sorted(o))}" for p, o in sorted(families[title].items())]
        parts.append("\n".join([f"# {title}", *lines, ""]))
    return "\n".join(parts)
