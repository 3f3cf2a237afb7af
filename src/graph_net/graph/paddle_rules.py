"""Which Paddle calls change tensors, draw random numbers or take sizes, by name.

``effects.py`` and ``sizes.py`` ask here for targets that begin with ``paddle.``; the reasons are
theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph_net.graph.paddle_targets import signature
from graph_net.graph.values import Value

if TYPE_CHECKING:
    from graph_net.graph.graph import Node

PREFIX = "paddle."
VIEWS = frozenset(
    """
assign cast slice strided_slice split_with_num unstack unsqueeze squeeze view_shape view_dtype
tensor_unfold index_select_strided reshape transpose flatten expand dropout detach
""".split()
)
_RANDOM = frozenset(
    """
bernoulli binomial class_center_sample dirichlet exponential_ gaussian gaussian_inplace
gaussian_inplace_ graph_sample_neighbors gumbel_softmax multinomial normal normal_ poisson rand
randint randn random random_ randperm rrelu shuffle_batch standard_gamma standard_normal
top_p_sampling truncated_gaussian_random uniform uniform_inplace uniform_inplace_
uniform_random_batch_size_like bernoulli_ geometric_ cauchy_ log_normal_
""".split()
)
_SIZES = {
    # where the arguments that are sizes begin, and how many there are
    **dict.fromkeys(
        """
full empty ones zeros uniform gaussian truncated_gaussian_random rand randn eye standard_normal
arange
""".split(),
        (0, 1),
    ),
    **dict.fromkeys(
        """
reshape reshape_ expand tile assign_value_ full_ full_batch_size_like split view_shape
broadcast_to repeat_interleave view
""".split(),
        (1, 1),
    ),
    **dict.fromkeys("slice strided_slice".split(), (2, 2)),
    **dict.fromkeys(
        "linear_interp bilinear_interp bicubic_interp nearest_interp trilinear_interp".split(),
        (5, 3),
    ),
    "randint": (0, 3),
    "crop": (1, 2),
}


def base(target: str) -> str:
    """``relu_`` of ``paddle._C_ops.relu_``."""
    return target.rpartition(".")[2]


def argument(node: Node, name: str) -> Value:
    """An argument of an operator by its name, None where it is not given."""
    names = signature(node.target)
    if name in names and names.index(name) < len(node.args):
        return node.args[names.index(name)]
    return dict(node.kwargs).get(name)


def mutated(node: Node) -> tuple[Value, ...]:
    """The arguments that a Paddle call changes in place."""
    word = base(node.target)
    if word == "batch_norm" and argument(node, "is_test") is not True:
        return argument(node, "mean"), argument(node, "variance")
    return node.args[:1] if word.endswith("_") else ()


def draws_random(node: Node) -> bool:
    """Whether a Paddle call takes numbers from the random generator."""
    word = base(node.target)
    if word in ("rrelu", "dropout", "dropout_", "rnn", "fused_dropout_add"):
        return argument(node, "is_test") is not True
    return word in _RANDOM


def size_positions(target: str) -> tuple[int, int]:
    """The range of positional arguments that are sizes."""
    start, count = _SIZES.get(base(target), (0, 0))
    return start, start + count
