"""What a kernel's arguments must satisfy beyond their types, by the packet's name.

A rule takes the arguments by their names in the schema and raises RefusedCall. The rules here bound
what a call makes (bytes, pieces, iterations); ``kernel_shapes`` and ``kernel_gradients`` have those
for kernels that trust an index, a length or a shape they are given, ``kernel_values`` those that
trust other values, ``kernel_layouts`` those that take a tensor to be dense.
``tools/fuzz_operators.py`` looks for what is missing.
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

MOST_COUNTED = 1 << 28
"""Elements that a call may ask for by one number."""
_EXACT = 1 << 53
"""Whole numbers up to here are floats too."""
_WIDEST = 16
"""Bytes of the widest element, complex128."""


@lru_cache(maxsize=8192)
def rules_of(overload: OpOverload) -> tuple[Rule, ...]:
    """The rules for an overload; none for most."""
    packet = overload._schema.name.partition("::")[2].removesuffix("_")
    tables = (SIZE_RULES, SHAPE_RULES, GRADIENT_RULES, LAYOUT_RULES, VALUE_RULES)
    rules = [table[packet] for table in tables if packet in table]
    written = written_rule(overload)
    return tuple(rules if written is None else [*rules, written])


def _item(bound: Bound) -> int:
    dtype = bound.get("dtype")
    if isinstance(dtype, torch.dtype):
        return dtype.itemsize
    owner = bound.get("self")
    return owner.element_size() if isinstance(owner, torch.Tensor) else 8


def _created(bound: Bound) -> None:
    check_bytes(bound.get("size", ()), _item(bound))


def _strided(bound: Bound) -> None:
    pairs = zip(bound["size"], bound["stride"], strict=True)
    check_bytes([1 + sum((int(n) - 1) * int(s) for n, s in pairs if n > 0)], _item(bound))
    _created(bound)


def _square(bound: Bound) -> None:
    columns = bound.get("m", bound.get("n", 0))
    check_bytes([bound.get("n", 0), columns], _item(bound))
    _counted("n", "m")(bound)


def _counted(*names: str) -> Rule:
    """A rule for a call that makes as many elements as one of these arguments says."""

    def rule(bound: Bound) -> None:
        for name in names:
            count = bound.get(name)
            if isinstance(count, int) and count > MOST_COUNTED:
                raise RefusedCall(f"{name} of {count}; a call may ask for {MOST_COUNTED}")

    return rule


def _stepped(bound: Bound) -> None:
    start, end, step = bound.get("start", 0), bound.get("end", 0), bound.get("step", 1)
    numbers = [float(value) for value in (start, end, step)]
    if not all(math.isfinite(number) for number in numbers) or numbers[2] == 0:
        raise RefusedCall(f"a range from {start} to {end} by {step}")
    check_bytes([min((numbers[1] - numbers[0]) / numbers[2], 2.0**63)], _item(bound))


def _gammas(bound: Bound) -> None:
    check_bytes([max(bound["self"].numel(), 1), max(int(bound["p"]), 0)], _WIDEST << 10)


def _drawn(bound: Bound) -> None:
    ends = [bound[name] for name in ("from", "to") if bound.get(name) is not None]
    if any(abs(int(end)) > _EXACT for end in ends):
        raise RefusedCall(f"whole numbers drawn between {ends}; torch searches for ends that fit")


def _triangle(bound: Bound) -> None:
    check_bytes([2, bound["row"], bound["col"]], _item(bound))


def _expanded(bound: Bound) -> None:
    owner = bound["self"]
    sizes = [int(size) for size in bound["size"]]
    lead = len(sizes) - owner.dim()
    known = [owner.shape[i - lead] if size == -1 and i >= lead else size
             for i, size in enumerate(sizes)]  # fmt: skip
    check_bytes(known, owner.element_size())


def _repeated(bound: Bound) -> None:
    owner = bound["self"]
    repeats = bound.get("repeats", bound.get("dims", ()))
    check_bytes([max(owner.numel(), 1), *repeats], owner.element_size())


def _interleaved(bound: Bound) -> None:
    repeats = bound["repeats"]
    size = bound.get("output_size")
    most = int(repeats.max()) if isinstance(repeats, torch.Tensor) and repeats.numel() else 0
    count = repeats.numel() if isinstance(repeats, torch.Tensor) else 0
    check_bytes([max(count, 1), max(most, 1)], 8)
    if size is not None and isinstance(repeats, torch.Tensor) and "self" not in bound:
        total = int(repeats.sum()) if repeats.numel() else 0
        if int(size) != total:
            raise RefusedCall(f"repeat_interleave is told {size} results; its repeats make {total}")


def _padded(bound: Bound) -> None:
    owner, pads = bound["self"], [int(pad) for pad in bound.get("pad", bound.get("padding", ()))]
    sizes = list(owner.shape)
    for axis in range(len(pads) // 2):
        if axis < len(sizes):
            sizes[-1 - axis] += max(pads[2 * axis], 0) + max(pads[2 * axis + 1], 0)
    check_bytes(sizes, owner.element_size())


def _resampled(bound: Bound) -> None:
    owner = bound.get("self", bound.get("input"))
    sizes = bound.get("output_size")
    if owner is None or owner.dim() < 3:
        return
    if sizes is None:
        factors = bound.get("scale_factors") or ()
        sizes = [min(side * abs(f), 2.0**62) for side, f in zip(owner.shape[2:], factors)]  # noqa: B905
        if not all(math.isfinite(size) for size in sizes):
            raise RefusedCall(f"scale factors {factors}")
    check_bytes([max(owner.shape[0], 1), max(owner.shape[1], 1), *sizes], owner.element_size())


def _pooled(bound: Bound) -> None:
    owner, sizes = bound["self"], bound["output_size"]
    sizes = sizes if isinstance(sizes, (list, tuple)) else [sizes]
    # A side of nothing makes nothing, and the loop over the other is made all the same.
    sides = [max(int(size), 1) for size in sizes if size is not None]
    check_bytes([max(owner.shape[0], 1) if owner.dim() else 1, *sides], _WIDEST)


def _diagonal(bound: Bound) -> None:
    owner, offset = bound["self"], abs(int(bound.get("offset", bound.get("diagonal", 0))))
    side = (owner.shape[-1] if owner.dim() else 1) + offset
    rows = owner.numel() // max(owner.shape[-1], 1) if owner.dim() else 1
    check_bytes([max(rows, 1), side, side], owner.element_size())


def _unfolded(bound: Bound) -> None:
    owner = bound["self"]
    check_bytes([max(owner.numel(), 1), max(int(bound["size"]), 1)], 1)


def _pieces(bound: Bound) -> None:
    owner, axis = bound["self"], int(bound.get("dim", 0))
    size = owner.shape[axis] if -owner.dim() <= axis < owner.dim() else 1
    asked = bound.get("split_size")
    if isinstance(asked, int):
        size = math.ceil(size / asked) if asked > 0 else 1
    asked = bound.get("chunks", bound.get("sections"))
    if isinstance(asked, int):
        size = max(asked, 0)
    if size > DEFAULT_LIMITS.literal:
        raise RefusedCall(f"{size} pieces of one tensor; at most {DEFAULT_LIMITS.literal} are made")


SIZE_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        """
empty zeros ones full rand randn randint empty_permuted new_empty new_zeros new_ones new_full
_efficientzerotensor normal
""".split(),
        _created,
    ),
    **dict.fromkeys(("empty_strided", "new_empty_strided"), _strided),
    **dict.fromkeys(("as_strided", "as_strided_copy", "as_strided_scatter"), _created),
    **dict.fromkeys(("expand", "expand_copy", "broadcast_to"), _expanded),
    **dict.fromkeys(("repeat", "tile"), _repeated),
    **dict.fromkeys(("arange", "range"), _stepped),
    **dict.fromkeys(("tril_indices", "triu_indices"), _triangle),
    **dict.fromkeys(("constant_pad_nd", "pad"), _padded),
    **dict.fromkeys((f"replication_pad{n}d" for n in (1, 2, 3)), _padded),
    **dict.fromkeys(
        names(Trait.RESAMPLING) | names(Trait.SMOOTH_RESAMPLING), _resampled,
    ),
    **dict.fromkeys(
        [f"adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2, 3)]
        + ["_adaptive_avg_pool2d", "_adaptive_avg_pool3d"],
        _pooled,
    ),
    **dict.fromkeys(("diag_embed", "diag", "diagflat"), _diagonal),
    **dict.fromkeys(("unfold", "unfold_copy"), _unfolded),
    **dict.fromkeys(
        "unbind unbind_copy split split_copy unsafe_split tensor_split chunk hsplit vsplit "
        "dsplit".split(),
        _pieces,
    ),
    **dict.fromkeys(("mvlgamma", "special_multigammaln"), _gammas),
    "random": _drawn,
    "eye": _square,
    "repeat_interleave": _interleaved,
    "linspace": _counted("steps"),
    "logspace": _counted("steps"),
    "randperm": _counted("n"),
    "fft_fftfreq": _counted("n"),
    "fft_rfftfreq": _counted("n"),
    **dict.fromkeys(
        (f"{kind}_window" for kind in "bartlett blackman hamming hann kaiser".split()),
        _counted("window_length"),
    ),
    "histc": _counted("bins"),
    "histogram": _counted("bins"),
    "bincount": _counted("minlength"),
    "nonzero_static": _counted("size"),
    "multinomial": _counted("num_samples"),
    "vander": _counted("N"),
    "linalg_vander": _counted("N"),
    "embedding_dense_backward": _counted("num_weights"),
}  # fmt: skip
"""Rules that bound what a call makes, by packet; an in-place form shares its twin's."""
