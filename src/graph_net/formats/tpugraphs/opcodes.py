"""The numbers that TpuGraphs gave the operators of HLO; 0 is one that it does not know."""

from __future__ import annotations

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
"""By number."""
NUMBERS = {name: number for number, name in enumerate(OPCODES)}
CONVOLUTION, DOT, RESHAPE = NUMBERS["convolution"], NUMBERS["dot"], NUMBERS["reshape"]
COPY, TRANSPOSE, PARAMETER = NUMBERS["copy"], NUMBERS["transpose"], NUMBERS["parameter"]
CONFIGURABLE = (CONVOLUTION, DOT, RESHAPE)
"""What a layout can be chosen for; our own graphs add transpose (permute)."""


def opcode_number(name: str) -> int:
    """Return the number of an operator; 0 for one that TpuGraphs does not know."""
    return NUMBERS.get(name, 0)


def opcode_name(number: int) -> str:
    """Return the name of an operator."""
    return OPCODES[number] if 0 <= number < len(OPCODES) else OPCODES[0]
