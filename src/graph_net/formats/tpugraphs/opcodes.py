"""The numbers that TpuGraphs gave the operators of HLO; 0 is an operator that it does not know."""

from __future__ import annotations

from graph_net.graph.hlo_targets import OPCODES

NUMBERS = {name: number for number, name in enumerate(OPCODES)}
CONVOLUTION, DOT, RESHAPE = NUMBERS["convolution"], NUMBERS["dot"], NUMBERS["reshape"]
COPY, TRANSPOSE, PARAMETER = NUMBERS["copy"], NUMBERS["transpose"], NUMBERS["parameter"]
CONFIGURABLE = (CONVOLUTION, DOT, RESHAPE)
"""Operators that TpuGraphs chooses layouts for; our own graphs add transpose (permute)."""


def opcode_number(name: str) -> int:
    """Return the number of an operator; 0 for one that TpuGraphs does not know."""
    return NUMBERS.get(name, 0)


def opcode_name(number: int) -> str:
    """Return the name of an operator."""
    return OPCODES[number] if 0 <= number < len(OPCODES) else OPCODES[0]
