"""The calls that a level-``paddle`` graph may make, by name, without importing Paddle.

=============================  =================================================================
``paddle._C_ops.conv2d``         an operator of ``paddle_targets.txt``, called as Paddle's eager
                                 interface takes it: every argument, in order
``paddle.arange``                a public function on tensors from the same file
``operator.getitem``             one of several outputs of a call, never an index into a tensor
``operator.mod``                 arithmetic that samples spell with a sign
``builtins.getattr``             the dtype or the shape of a value
``paddle.Tensor.detach``         the same values under another name, without a gradient
=============================  =================================================================

Among the arguments of an operator the text ``"cpu"`` stands for Paddle's ``CPUPlace``, where the
host reads a number; every other place is the device of the run.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from graph_net.graph.errors import UnknownTarget

OPS = "paddle._C_ops."
CPU = "cpu"
"""How a graph spells Paddle's CPUPlace."""
DETACH = "paddle.Tensor.detach"
"""The only method that samples call, where a program has ``pd_op.share_data_``."""
OPERATORS = frozenset(
    """
add sub mul truediv floordiv mod pow matmul and_ or_ xor neg invert eq ne lt le gt ge getitem
""".split()
)
ATTRIBUTES = frozenset(["dtype", "shape"])

LIST = 0
"""The output count of a call that returns a list."""


@cache
def _signatures() -> dict[str, tuple[tuple[str, ...], int]]:
    """Return, for every allowed name, its operator's arguments and its number of outputs."""
    text = files("graph_net.graph").joinpath("paddle_targets.txt").read_text("utf-8")
    signatures: dict[str, tuple[tuple[str, ...], int]] = {
        **{f"operator.{name}": ((), 1) for name in OPERATORS},
        "builtins.getattr": ((), 1),
        DETACH: (("x",), 1),
    }
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, rest = line.partition("(")
            names, _, result = rest.partition(")")
            count = result.removeprefix(" -> ")
            outputs = int(count) if count.isdigit() else LIST if count or not rest else 1
            signatures[name] = (tuple(names.split(", ")) if names else (), outputs)
    return signatures


def signature(target: str) -> tuple[str, ...]:
    """Return the names of an operator's arguments in call order."""
    return _signatures().get(target, ((), 1))[0]


def output_count(target: str) -> int:
    """Return how many outputs a call has, or ``LIST``.

    A program may have more: eager mode omits those that only a backward pass reads.
    """
    return _signatures().get(target, ((), 1))[1]


def is_paddle_target(target: str) -> bool:
    """Return whether a level-``paddle`` graph may call this target."""
    return target in _signatures()


def check_paddle_target(target: str, node: str | None = None, line: int | None = None) -> None:
    """Raise UnknownTarget unless a level-``paddle`` graph may call this target."""
    if not is_paddle_target(target):
        why = f"{target[:120]!r} is not on the allow-list of calls at level paddle"
        raise UnknownTarget(why, node=node, field="target", line=line)
