"""Which whole numbers among a call's arguments are sizes rather than attributes.

``view(1, 32, 768)`` and ``view(4, 64, 768)`` are one structure at two sizes; ``conv2d`` with
stride 1 and with stride 2 are two structures.
"""

from __future__ import annotations

from graph_net.graph import paddle_rules
from graph_net.graph.effects import base_name

EVERY = 99
_FROM = {
    # where the arguments that are sizes begin, and how many there are
    **dict.fromkeys(
        """
view reshape expand repeat tile broadcast_to resize_ _unsafe_view view_copy expand_copy
new_zeros new_ones new_empty as_strided new_empty_strided
""".split(),
        (1, EVERY),
    ),
    **dict.fromkeys(
        """
zeros ones empty rand randn arange range eye tril_indices triu_indices Size empty_strided
randperm hann_window hamming_window
""".split(),
        (0, EVERY),
    ),
    **dict.fromkeys(("full", "empty_permuted"), (0, 1)),
    **dict.fromkeys(
        """
new_full layer_norm native_layer_norm rms_norm split split_with_sizes interpolate
upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d
upsample_bicubic2d upsample_trilinear3d repeat_interleave fold upsample col2im
""".split(),
        (1, 1),
    ),
    "unflatten": (2, 1),
    "narrow": (2, 2),
    "slice": (2, 2),
    "slice_scatter": (3, 2),
    "linspace": (2, 1),
    "multi_head_attention_forward": (3, 1),
    "randint": (0, EVERY),
}
_KEYWORDS = frozenset(
    """
size sizes shape normalized_shape start end length split_size split_size_or_sections split_sizes
repeats steps
""".split()
)


def size_positions(target: str) -> tuple[int, int]:
    """The range of positional arguments that are sizes."""
    if target.startswith(paddle_rules.PREFIX):
        return paddle_rules.size_positions(target)
    start, count = _FROM.get(base_name(target), (0, 0))
    return start, start + count


def is_size_keyword(key: str) -> bool:
    """Whether a keyword argument is a size."""
    return key in _KEYWORDS
