"""Resolution of a target's name to a torch function, through the allow-list only."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket, _OpNamespace

from graph_net.graph.errors import UnknownTarget
from graph_net.graph.targets import canonical_target, check_target, is_overload

_MODULES: dict[str, Any] = {"operator": operator, "builtins": builtins, "math": math}
_CACHED = 8192


@lru_cache(maxsize=_CACHED)
def resolve(target: str) -> Callable[..., Any]:
    """Return the function, operator or method (as a function of its object) a target names."""
    check_target(target)
    if is_overload(target):
        return resolve_overload(target)
    if target.startswith("method:"):
        return _method(target[7:])
    root, *path = target.split(".")
    function: Any = torch if root == "torch" else _MODULES[root]
    for part in path:
        function = getattr(function, part, None)
    if not callable(function):
        raise UnknownTarget(
            f"torch {torch.__version__} has no {target!r}; the graph needs another version",
            field="target",
        )
    return function  # type: ignore[no-any-return]


def resolve_overload(target: str) -> OpOverload | OpOverloadPacket:
    """Return the operator that ``aten.add.Tensor`` (or the packet ``aten.add``) names."""
    namespace, name, *overload = target.split(".")
    space = getattr(torch.ops, namespace, None)
    packet = getattr(space, name, None) if isinstance(space, _OpNamespace) else None
    overload_or_packet = packet
    if isinstance(packet, OpOverloadPacket) and overload:
        overload_or_packet = getattr(packet, overload[0], None)
    if isinstance(overload_or_packet, (OpOverload, OpOverloadPacket)):
        return overload_or_packet
    raise UnknownTarget(
        f"no operator {target!r} is registered with torch {torch.__version__}; "
        "if another library defines it, import that library first",
        field="target",
    )


def _method(name: str) -> Callable[..., Any]:
    def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(owner, name)(*args, **kwargs)

    call.__name__ = name
    return call


@lru_cache(maxsize=_CACHED)
def name_of(function: Any) -> str | None:
    """Return the target that names a function or operator, or None if none is allowed."""
    if isinstance(function, OpOverload):
        space, name = function._schema.name.split("::")
        return f"{space}.{name}.{function._overloadname}"
    if isinstance(function, OpOverloadPacket):
        return function._qualified_op_name.replace("::", ".")
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", "")
    if module == "_operator":
        module = "operator"
    for candidate in (f"{module}.{name}", torch_path(function)):
        if candidate is None:
            continue
        target = canonical_target(candidate)
        try:
            if resolve(target) is function:
                return target
        except UnknownTarget:
            continue
    return None


def torch_path(function: Any) -> str | None:
    """Return the public path of a torch function whose own module name does not give it."""
    name = getattr(function, "__name__", "")
    modules = {
        "torch": torch,
        "torch.nn.functional": torch.nn.functional,
        "torch._C._nn": torch._C._nn,
        "torch.fft": torch.fft,
        "torch.linalg": torch.linalg,
        "torch.special": torch.special,
    }
    for path, module in modules.items():
        for attribute in (name, name.removeprefix(path.rpartition(".")[2] + "_")):
            if getattr(module, attribute, None) is function:
                return f"{path}.{attribute}"
    return None
