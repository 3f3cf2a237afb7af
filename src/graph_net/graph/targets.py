"""The allow-list: what a node may call, by name.

A target is text in one of these forms. Nothing here imports torch: a name is checked when a
graph is read, and resolved (``graph_net.graph.resolve``) only when it is run.

=====================  =========================================================================
``aten.linear.default``  an overload on its library's list (``graph.allow_list``), or the packet
                         ``aten.linear``: those of its overloads that are listed
``torch.conv2d``         a torch function from ``allowed_targets.txt``
``method:view``          a tensor method from the same file
``operator.add``         a function of Python's ``operator`` module, in-place forms included
``builtins.getattr``     an attribute read, of the attributes below
``builtins.max``         a Python function on numbers, ``math.floor`` likewise
=====================  =========================================================================
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files

from graph_net.graph.allow_list import GROUP, allowed_overloads, listed_packets
from graph_net.graph.errors import UnknownTarget

OPERATORS = frozenset(
    """
add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift neg pos invert not_ truth
eq ne lt le gt ge getitem setitem index abs concat contains is_ is_not iadd isub imul itruediv
ifloordiv imod ipow imatmul iand ior ixor ilshift irshift
""".split()
)
BUILTINS = frozenset("getattr max min abs int float bool round sum len slice tuple list".split())
MATH = frozenset("floor ceil sqrt trunc pow log exp log2 prod isqrt".split())
ATTRIBUTES = frozenset(
    """
shape dtype device ndim T mT H mH real imag layout data requires_grad is_cuda is_cpu is_meta
is_sparse is_quantized itemsize nbytes values indices min max eps tiny grad is_mps is_xpu
is_mkldnn is_leaf output_nr eigenvalues eigenvectors U S Vh V Q R L LU pivots P sign logabsdet
mantissa exponent smallest_normal resolution bits hist bin_edges solution
""".split()
)
FUNCTION_ROOTS = frozenset("torch method operator builtins math paddle higher_order".split())
"""First components of targets that are not namespaces of registered operators."""

VMAP_INTERNALS = re.compile(
    r"torch\.(_C\._functorch|_functorch\.predispatch|_functorch\.vmap|_functorch\.apis)\.\w+"
)
_OVERLOAD = re.compile(r"[a-z_][a-z0-9_]*\.[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)
_ATEN_LEVEL_TORCH = re.compile(r"torch\.sym_\w+", re.ASCII)


@cache
def _tables() -> tuple[frozenset[str], dict[str, str]]:
    """Return the allowed names, and the public name of each private alias."""
    text = files("graph_net.graph").joinpath("allowed_targets.txt").read_text("utf-8")
    names: set[str] = {f"operator.{name}" for name in OPERATORS}
    names |= {f"builtins.{name}" for name in BUILTINS} | {f"math.{name}" for name in MATH}
    aliases: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        private, _, public = line.partition("=")
        if public:
            aliases[private] = public
        else:
            names.add(private)
    return frozenset(names), aliases


def allowed_functions() -> frozenset[str]:
    """Return every function and method that a graph may call, operators aside."""
    return _tables()[0]


@lru_cache(maxsize=8192)
def canonical_target(name: str) -> str:
    """Return the public spelling of a call target, whether or not it is allowed."""
    _, aliases = _tables()
    name = aliases.get(name, name)
    return name.removeprefix("torch.ops.")


@lru_cache(maxsize=8192)
def is_overload(target: str) -> bool:
    """Return whether a target is a registered operator (``aten.add.Tensor``), not a function."""
    namespace = target.partition(".")[0]
    return namespace not in FUNCTION_ROOTS and _OVERLOAD.fullmatch(target) is not None


@lru_cache(maxsize=8192)
def is_allowed(target: str) -> bool:
    """Return whether a graph may call this target."""
    if is_overload(target):
        namespace, _, name = target.partition(".")
        return name in (allowed_overloads(namespace) if "." in name else listed_packets(namespace))
    return target in _tables()[0]


@lru_cache(maxsize=8192)
def is_aten_level(target: str) -> bool:
    """Return whether a level-``aten`` graph may call this: overloads, arithmetic on sizes."""
    if is_overload(target):
        return target.count(".") == 2
    return target.startswith(("operator.", "builtins.", "math.")) or bool(
        _ATEN_LEVEL_TORCH.fullmatch(target)
    )


def check_target(target: str, node: str | None = None, line: int | None = None) -> None:
    """Raise UnknownTarget, with the reason, unless a graph may call this target."""
    if is_allowed(target):
        return
    if VMAP_INTERNALS.fullmatch(target):
        why = (
            f"{target} is a vmap internal: it batches the calls that follow through hidden "
            "interpreter state, which a graph of values cannot hold"
        )
    elif target.startswith("paddle."):
        why = f"{target[:120]} belongs to graphs of level paddle, which graph_net.paddle.run runs"
    elif target.startswith("hlo."):
        why = f"{target[:120]} belongs to graphs of level hlo, which are read and not run"
    elif is_overload(target):
        why = (
            f"{target[:120]} is not on the list of operators that a graph may call; if the call "
            f"is safe with any arguments, a plug-in can list it (entry points {GROUP!r})"
        )
    else:
        why = f"{target[:120]!r} is not on the allow-list of call targets"
    raise UnknownTarget(why, node=node, field="target", line=line)
