"""The operators that a graph may call, one list per library.

``operators/aten.txt`` and its neighbours ship with the package and are made by
``python -m tools.allow_list``. A plug-in adds operators under the entry-point group
``graph_net.operators``: the name is the namespace, the value an attribute of a module that holds
overloads as text, ``["nms.default", ...]``. A plug-in is loaded when a graph uses its namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files

from graph_net.graph.errors import GraphError

GROUP = "graph_net.operators"
_CACHED = 1024
_NAMESPACE = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
_OVERLOAD = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*", re.ASCII)


@lru_cache(maxsize=_CACHED)
def allowed_overloads(namespace: str) -> frozenset[str]:
    """Return the overloads (``add.Tensor``) of a namespace that a graph may call."""
    if _NAMESPACE.fullmatch(namespace) is None:
        return frozenset()
    return frozenset(_shipped(namespace)) | frozenset(_plugged_in(namespace))


@lru_cache(maxsize=_CACHED)
def listed_packets(namespace: str) -> frozenset[str]:
    """Return the packets (``add``) of a namespace with at least one listed overload."""
    return frozenset(name.partition(".")[0] for name in allowed_overloads(namespace))


def overloads_in(text: str) -> Iterator[str]:
    """Yield the overloads that a list file names: ``packet: overload overload`` per line."""
    for line in text.splitlines():
        packet, _, overloads = line.partition(":")
        if not line.startswith("#"):
            yield from (f"{packet}.{overload}" for overload in overloads.split())


def _shipped(namespace: str) -> Iterator[str]:
    if f"{namespace}.txt" in _files():
        file = files("graph_net.graph").joinpath("operators", f"{namespace}.txt")
        yield from overloads_in(file.read_text("utf-8"))


@cache
def _files() -> frozenset[str]:
    """Return the names of the shipped lists, so that unknown namespaces cost no file access."""
    return frozenset(file.name for file in files("graph_net.graph").joinpath("operators").iterdir())


@cache
def _plug_ins() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


def _plugged_in(namespace: str) -> Iterator[str]:
    for point in _plug_ins():
        if point.name != namespace:
            continue
        where = f"the operators of {namespace} that the plug-in {point.value} lists"
        try:
            names: Iterable[object] = point.load()
        except Exception as error:
            raise GraphError(
                f"{where} cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        for name in names:
            if not isinstance(name, str) or _OVERLOAD.fullmatch(name) is None:
                raise GraphError(f"{where} hold {name!r}; write packet.overload, as nms.default")
            yield name
