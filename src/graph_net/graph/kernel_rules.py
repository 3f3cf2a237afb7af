"""Conditions on a kernel's arguments beyond their types, by the packet's name.

A rule takes the arguments by their names in the schema and raises RefusedCall. The rules here bound
what a call creates (bytes, pieces, iterations); ``kernel_shapes`` and ``kernel_gradients`` cover
kernels that trust an index, a length or a shape, ``kernel_values`` those that trust other values,
``kernel_layouts`` those that take a tensor to be dense. ``tools/fuzz_operators.py`` searches for
missing rules.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch._ops import OpOverload

from graph_net.graph.errors import RefusedCall
from graph_net.graph.kernel_checks import Bound, Rule, check_bytes
from graph_net.graph.kernel_gradients import GRADIENT_RULES
from graph_net.graph.kernel_layouts import LAYOUT_RULES, written_rule
from graph_net.graph.kernel_shapes import SHAPE_RULES
from graph_net.graph.kernel_values import VALUE_RULES
from graph_net.graph.limits import DEFAULT_LIMITS
from graph_net.graph.operators import Trait, names

MAX_COUNT = 1 << 28
"""The most elements that one number may request."""
_EXACT = 1 << 53
"""Integers up to here are exact floats."""
_WIDEST_ITEM = 16
"""Bytes of the widest element, complex128."""


@lru_cache(maxsize=8192)
def rules_of(overload: OpOverload) -> tuple[Rule, ...]:
    """Return the rules for an overload; most have none."""
    packet = overload._schema.name.partition("::")[2].removesuffix("_")
    tables = (SIZE_RULES, SHAPE_RULES, GRADIENT_RULES, LAYOUT_RULES, VALUE_RULES)
    rules = [table[packet] for table in tables if packet in table]
    writes = written_rule(overload)
    return tuple(rules if writes is None else [*rules, writes])


def _item_bytes(bound: Bound) -> int:
    dtype = bound.get("dtype")
    if isinstance(dtype, torch.dtype):
        return dtype.itemsize
    x = bound.get("self")
    return x.element_size() if isinstance(x, torch.Tensor) else 8


def _check_creation(bound: Bound) -> None:
    check_bytes(bound.get("size", ()), _item_bytes(bound))


def _check_strided(bound: Bound) -> None:
    pairs = zip(bound["size"], bound["stride"], strict=True)
    check_bytes([1 + sum((int(n) - 1) * int(s) for n, s in pairs if n > 0)], _item_bytes(bound))
    _check_creation(bound)


def _check_eye(bound: Bound) -> None:
    columns = bound.get("m", bound.get("n", 0))
    check_bytes([bound.get("n", 0), columns], _item_bytes(bound))
    _count_rule("n", "m")(bound)


def _count_rule(*names: str) -> Rule:
    """Return a rule for calls that create as many elements as one of these arguments says."""

    def rule(bound: Bound) -> None:
        for name in names:
            count = bound.get(name)
            if isinstance(count, int) and count > MAX_COUNT:
                raise RefusedCall(f"{name} of {count}; at most {MAX_COUNT} is allowed")

    return rule


def _check_arange(bound: Bound) -> None:
    start, end, step = bound.get("start", 0), bound.get("end", 0), bound.get("step", 1)
    numbers = [float(value) for value in (start, end, step)]
    if not all(math.isfinite(number) for number in numbers) or numbers[2] == 0:
        raise RefusedCall(f"a range from {start} to {end} by {step}")
    check_bytes([min((numbers[1] - numbers[0]) / numbers[2], 2.0**63)], _item_bytes(bound))


def _check_multigamma(bound: Bound) -> None:
    check_bytes([max(bound["self"].numel(), 1), max(int(bound["p"]), 0)], _WIDEST_ITEM << 10)


def _check_random_bounds(bound: Bound) -> None:
    ends = [bound[name] for name in ("from", "to") if bound.get(name) is not None]
    if any(abs(int(end)) > _EXACT for end in ends):
        raise RefusedCall(f"integers drawn between {ends}; a float holds them only up to 2**53")


def _check_triangle(bound: Bound) -> None:
    check_bytes([2, bound["row"], bound["col"]], _item_bytes(bound))


def _check_expand(bound: Bound) -> None:
    x = bound["self"]
    sizes = [int(size) for size in bound["size"]]
    lead = len(sizes) - x.dim()
    pairs = zip(sizes, (0,) * lead + tuple(x.shape), strict=False)
    check_bytes([old if size == -1 else size for size, old in pairs], x.element_size())


def _check_repeat(bound: Bound) -> None:
    x = bound["self"]
    repeats = bound.get("repeats", bound.get("dims", ()))
    check_bytes([max(x.numel(), 1), *repeats], x.element_size())


def _check_interleave(bound: Bound) -> None:
    repeats, size = bound["repeats"], bound.get("output_size")
    if not isinstance(repeats, torch.Tensor):
        return
    most = int(repeats.max()) if repeats.numel() else 0
    check_bytes([max(repeats.numel(), 1), max(most, 1)], 8)
    if size is not None and "self" not in bound and int(size) != (total := int(repeats.sum())):
        raise RefusedCall(f"repeat_interleave of output_size {size}; the repeats sum to {total}")


def _check_pad(bound: Bound) -> None:
    x, pads = bound["self"], [int(pad) for pad in bound.get("pad", bound.get("padding", ()))]
    sizes = list(x.shape)
    for axis in range(len(pads) // 2):
        if axis < len(sizes):
            sizes[-1 - axis] += max(pads[2 * axis], 0) + max(pads[2 * axis + 1], 0)
    check_bytes(sizes, x.element_size())


def _check_resample(bound: Bound) -> None:
    x = bound.get("self", bound.get("input"))
    sizes = bound.get("output_size")
    if x is None or x.dim() < 3:
        return
    if sizes is None:
        factors = bound.get("scale_factors") or ()
        sizes = [min(side * abs(f), 2.0**62) for side, f in zip(x.shape[2:], factors)]  # noqa: B905
        if not all(math.isfinite(size) for size in sizes):
            raise RefusedCall(f"scale factors {factors}")
    check_bytes([max(x.shape[0], 1), max(x.shape[1], 1), *sizes], x.element_size())


def _check_pool(bound: Bound) -> None:
    x, sizes = bound["self"], bound["output_size"]
    sizes = sizes if isinstance(sizes, (list, tuple)) else [sizes]
    # An empty side gives an empty result, but the kernel still loops over the other.
    sides = [max(int(size), 1) for size in sizes if size is not None]
    check_bytes([max(x.shape[0], 1) if x.dim() else 1, *sides], _WIDEST_ITEM)


def _check_diagonal(bound: Bound) -> None:
    x, offset = bound["self"], abs(int(bound.get("offset", bound.get("diagonal", 0))))
    side = (x.shape[-1] if x.dim() else 1) + offset
    rows = x.numel() // max(x.shape[-1], 1) if x.dim() else 1
    check_bytes([max(rows, 1), side, side], x.element_size())


def _check_unfold(bound: Bound) -> None:
    x = bound["self"]
    check_bytes([max(x.numel(), 1), max(int(bound["size"]), 1)], 1)


def _check_split(bound: Bound) -> None:
    x, axis = bound["self"], int(bound.get("dim", 0))
    size = x.shape[axis] if -x.dim() <= axis < x.dim() else 1
    requested = bound.get("split_size")
    if isinstance(requested, int):
        size = math.ceil(size / requested) if requested > 0 else 1
    requested = bound.get("chunks", bound.get("sections"))
    if isinstance(requested, int):
        size = max(requested, 0)
    if size > DEFAULT_LIMITS.literal:
        raise RefusedCall(f"{size} pieces of one tensor; the limit is {DEFAULT_LIMITS.literal}")


SIZE_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        """
empty zeros ones full rand randn randint empty_permuted new_empty new_zeros new_ones new_full
_efficientzerotensor normal
""".split(),
        _check_creation,
    ),
    **dict.fromkeys(("empty_strided", "new_empty_strided"), _check_strided),
    **dict.fromkeys(("as_strided", "as_strided_copy", "as_strided_scatter"), _check_creation),
    **dict.fromkeys(("expand", "expand_copy", "broadcast_to"), _check_expand),
    **dict.fromkeys(("repeat", "tile"), _check_repeat),
    **dict.fromkeys(("arange", "range"), _check_arange),
    **dict.fromkeys(("tril_indices", "triu_indices"), _check_triangle),
    **dict.fromkeys(("constant_pad_nd", "pad"), _check_pad),
    **dict.fromkeys((f"replication_pad{n}d" for n in (1, 2, 3)), _check_pad),
    **dict.fromkeys(
        names(Trait.RESAMPLING) | names(Trait.SMOOTH_RESAMPLING), _check_resample,
    ),
    **dict.fromkeys(
        [f"adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2, 3)]
        + ["_adaptive_avg_pool2d", "_adaptive_avg_pool3d"],
        _check_pool,
    ),
    **dict.fromkeys(("diag_embed", "diag", "diagflat"), _check_diagonal),
    **dict.fromkeys(("unfold", "unfold_copy"), _check_unfold),
    **dict.fromkeys(
        "unbind unbind_copy split split_copy unsafe_split tensor_split chunk hsplit vsplit "
        "dsplit".split(),
        _check_split,
    ),
    **dict.fromkeys(("mvlgamma", "special_multigammaln"), _check_multigamma),
    "random": _check_random_bounds,
    "eye": _check_eye,
    "repeat_interleave": _check_interleave,
    "linspace": _count_rule("steps"),
    "logspace": _count_rule("steps"),
    "randperm": _count_rule("n"),
    "fft_fftfreq": _count_rule("n"),
    "fft_rfftfreq": _count_rule("n"),
    **dict.fromkeys(
        (f"{kind}_window" for kind in "bartlett blackman hamming hann kaiser".split()),
        _count_rule("window_length"),
    ),
    "histc": _count_rule("bins"),
    "histogram": _count_rule("bins"),
    "bincount": _count_rule("minlength"),
    "nonzero_static": _count_rule("size"),
    "multinomial": _count_rule("num_samples"),
    "vander": _count_rule("N"),
    "linalg_vander": _count_rule("N"),
    "embedding_dense_backward": _count_rule("num_weights"),
}  # fmt: skip
"""Rules that bound what a call creates, by packet; an in-place form has the same rules."""
