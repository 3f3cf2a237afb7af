"""The calls that a level-``hlo`` graph may make: the operators of XLA's HLO, by name.

Such graphs come from TpuGraphs' files. They are read, hashed, listed and learned from; nothing here
runs them. ``hlo.get_tuple_element`` is HLO's ``get-tuple-element``.
"""

from __future__ import annotations

from graph_net.graph.errors import UnknownTarget

PREFIX = "hlo."
OPCODES = tuple(
    """
unknown abs add add-dependency after-all all-reduce all-to-all atan2 batch-norm-grad
batch-norm-inference batch-norm-training bitcast bitcast-convert broadcast call ceil cholesky
clamp collective-permute count-leading-zeros compare complex concatenate conditional constant
convert convolution copy copy-done copy-start cosine custom-call divide domain dot dynamic-slice
dynamic-update-slice exponential exponential-minus-one fft floor fusion gather get-dimension-size
set-dimension-size get-tuple-element imag infeed iota is-finite log log-plus-one and not or xor
map maximum minimum multiply negate outfeed pad parameter partition-id popcnt power real recv
recv-done reduce reduce-precision reduce-window remainder replica-id reshape reverse rng
rng-get-and-update-state rng-bit-generator round-nearest-afz rsqrt scatter select
select-and-scatter send send-done shift-left shift-right-arithmetic shift-right-logical sign sine
slice sort sqrt subtract tanh trace transpose triangular-solve tuple tuple-select while cbrt
all-gather collective-permute-start collective-permute-done logistic dynamic-reshape
all-reduce-start all-reduce-done reduce-scatter all-gather-start all-gather-done opt-barrier
async-start async-update async-done round-nearest-even stochastic-convert tan
""".split()
)
"""Operators by the number that TpuGraphs gave them; 0 is an operator that it does not know."""
_TARGETS = frozenset(PREFIX + name.replace("-", "_") for name in OPCODES)


def hlo_target(opcode: str) -> str:
    """Return the target of a node that calls an operator of HLO."""
    return PREFIX + opcode.replace("-", "_")


def check_hlo_target(target: str, node: str | None = None, line: int | None = None) -> None:
    """Raise UnknownTarget unless a level-``hlo`` graph may call this target."""
    if target not in _TARGETS:
        why = f"{target[:120]!r} is not an operator of HLO that TpuGraphs knows"
        raise UnknownTarget(why, node=node, field="target", line=line)
