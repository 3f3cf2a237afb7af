"""The gate between a graph and torch: every call of an eager run passes here.

There are two checks. Before the call, arguments are compared with the schema (or, for Python's own
functions, bounded). While it runs, each kernel it reaches is checked by the rules of
``kernel_rules``, whichever function, method or composite operator led there.

Under fake tensors or a tracer no kernel runs, so only the first check is made. But torch still
computes with literals, so such a call is rehearsed. The second check does not reach compiled
programs: a measured graph has first passed an eager run with the same values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch._C import DispatchKey
from torch._ops import OpOverload, OpOverloadPacket
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode
from torch.utils._pytree import tree_leaves, tree_map_only

from graph_net.graph.argument_types import check_arguments
from graph_net.graph.composite_calls import check_composite
from graph_net.graph.errors import RefusedCall, UnknownTarget
from graph_net.graph.kernel_rules import rules_of
from graph_net.graph.python_calls import check_method, check_plain
from graph_net.graph.resolve import name_of, resolve
from graph_net.graph.targets import check_target

_CASTING = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}
_PLAIN = ("operator.", "builtins.", "math.")


def guarded_call(target: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call a target and return the result; raise RefusedCall if the arguments are unsafe."""
    function = resolve(target)
    if isinstance(function, OpOverloadPacket):
        function = _choose_overload(function, args, kwargs)
    check_call(target, function, args, kwargs)
    if _is_fake():
        _rehearse(function, args, kwargs)
    with watched_kernels() as guard:
        if guard is not None:
            guard.casting = tuple(kind for kind in _CASTING if torch.is_autocast_enabled(kind))
        return function(*args, **kwargs)


def check_call(
    target: str, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    """Raise RefusedCall if the arguments of a call are unsafe, as far as they are known."""
    check_composite(target, args, kwargs)
    if isinstance(function, OpOverload):
        check_arguments(function, args, kwargs)
    elif target.startswith("method:"):
        check_method(target[7:], args)
    elif target.startswith(_PLAIN):
        check_plain(target.partition(".")[2], args, kwargs)


@contextmanager
def watched_kernels() -> Iterator[KernelGuard | None]:
    """Check every kernel called inside by its rules; under fake tensors no kernel is called."""
    current = _get_current_dispatch_mode()
    if _is_fake():
        yield None
    elif isinstance(current, KernelGuard):
        yield current
    else:
        with KernelGuard() as guard:
            yield guard


def _is_fake() -> bool:
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None


def _rehearse(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Make a call on copies of the literals behind fake tensors, if all tensors have one."""
    leaves = tree_leaves((args, kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if not tensors or any(getattr(tensor, "constant", None) is None for tensor in tensors):
        return
    # Heavy to import, and already loaded where tensors are fake.
    from torch._subclasses.fake_tensor import unset_fake_temporarily
    from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

    with disable_proxy_modes_tracing(), unset_fake_temporarily(), torch.random.fork_rng(devices=[]):
        copies = tree_map_only(torch.Tensor, _copy_of_constant, (args, dict(kwargs)))
        try:
            with KernelGuard():
                function(*copies[0], **copies[1])
        except RefusedCall:
            raise
        except Exception:
            return  # the call itself will raise it


def _copy_of_constant(tensor: Any) -> torch.Tensor:
    return tensor.constant.clone()  # type: ignore[no-any-return]


class KernelGuard(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode that checks the arguments of each kernel by its rules, then calls it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.casting: tuple[str, ...] = ()
        """Devices with autocast on, which torch switches off inside a dispatch mode."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: no code is compiled under a guard, and True would import Dynamo (1 s)."""
        return False

    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        rules = rules_of(func)
        if rules:
            bound = dict(zip(_names(func), args, strict=False)) | kwargs
            for rule in rules:
                rule(bound)
        if _has_kernel(func, "CompositeImplicitAutograd"):
            # Under inference mode such an operator arrives whole: decompose it, rules active.
            with self, self._cast_inside(func):
                return func._op_dk(DispatchKey.CompositeImplicitAutograd, *args, **kwargs)
        return func(*args, **kwargs)

    @contextmanager
    def _cast_inside(self, func: OpOverload) -> Iterator[None]:
        """Enable autocast for the parts of an operator that is not cast as a whole."""
        before = self.casting
        self.casting = tuple(kind for kind in before if not _has_kernel(func, _CASTING[kind]))
        for kind in self.casting:
            torch.set_autocast_enabled(kind, True)
        try:
            yield
        finally:
            for kind in self.casting:
                torch.set_autocast_enabled(kind, False)
            self.casting = before


@lru_cache(maxsize=8192)
def _names(overload: OpOverload) -> tuple[str, ...]:
    return tuple(argument.name for argument in overload._schema.arguments)


@lru_cache(maxsize=8192)
def _has_kernel(overload: OpOverload, key: str) -> bool:
    name = overload.name()  # type: ignore[no-untyped-call]
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, key))


def _choose_overload(
    packet: OpOverloadPacket, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> OpOverload:
    """Return the overload that torch picks for these arguments; raise if it is not allowed."""
    name = packet._qualified_op_name
    overload = getattr(packet, torch._C._jit_resolve_packet(name, *args, **kwargs) or "default")
    target = name_of(overload)
    if target is None:
        raise UnknownTarget(f"{overload} has no name on the allow-list", field="target")
    check_target(target)
    return overload  # type: ignore[no-any-return]
