"""Which integers among a call's arguments are sizes rather than attributes.

``view(1, 32, 768)`` and ``view(4, 64, 768)`` are one structure at two sizes; ``conv2d`` with
stride 1 and with stride 2 are two structures.
"""

from __future__ import annotations

from graph_net.graph import paddle_rules
from graph_net.graph.operators import Trait, base_name, positions

_FROM = positions(Trait.SIZES)
_KEYWORDS = frozenset(
    """
size sizes shape normalized_shape start end length split_size split_size_or_sections split_sizes
repeats steps
""".split()
)


def size_positions(target: str) -> tuple[int, int]:
    """Return the range of positional arguments that are sizes."""
    if target.startswith(paddle_rules.PREFIX):
        return paddle_rules.size_positions(target)
    start, count = _FROM.get(base_name(target), (0, 0))
    return start, start + count


def is_size_keyword(key: str) -> bool:
    """Return whether a keyword argument is a size."""
    return key in _KEYWORDS
