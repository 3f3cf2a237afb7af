"""Numbers of a CPU program's machine code: what its instructions are, how often they run.

LLVM decides what a schedule is worth: whether sums stay in registers, how vectors of 7 numbers are
put together, what is spilled. None of that is in a trace. So the program is compiled, not run, and
its instructions are counted, each as often as its loops run it on one thread. The cycles of a block
are estimated: what its busiest unit needs, and the longest chain of results that wait for each
other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.features.machine_code import (
    CodeBlock,
    CodeError,
    Instruction,
    read_functions,
)

VERSION = 1
WIDTHS = (1, 4, 8, 16)
"""Numbers of single precision that an instruction works on."""


class Unit(StrEnum):
    """What an instruction keeps busy."""

    FMA = "fma"
    ARITHMETIC = "arithmetic"
    DIVISION = "division"
    SHUFFLE = "shuffle"
    GATHER = "gather"
    MOVE = "move"
    WHOLE = "whole"
    """Addresses and counters."""
    BRANCH = "branch"
    CALL = "call"


BEGINNINGS = {
    Unit.FMA: "vfm vfnm",
    Unit.DIVISION: "vdiv vsqrt vrcp vrsqrt div idiv",
    Unit.SHUFFLE: """vinsert vextract vshuf vperm vunpck vmovshdup vmovsldup vmovddup valign vblend
        vpblend vpbroadcast vbroadcast vpack vpunpck vpshuf vmovlhps vmovhlps vexpand vcompress
        vpinsr vpextr vpslldq vpsrldq vpalignr vpmov kmov""",
    Unit.GATHER: "vgather vscatter vpgather vpscatter",
    Unit.MOVE: "vmov mov cmov push pop vzeroupper vlddqu",
    Unit.BRANCH: "j ret",
    Unit.CALL: "call",
    Unit.ARITHMETIC: "v k",
}
"""Beginnings of mnemonics; the first that fits tells the unit, all others are of ``WHOLE``."""
PER_CYCLE = {
    Unit.FMA: 2.0,
    Unit.ARITHMETIC: 2.0,
    Unit.SHUFFLE: 2.0,
    Unit.DIVISION: 0.2,
    Unit.GATHER: 0.05,
    Unit.MOVE: 8.0,
    Unit.WHOLE: 4.0,
    Unit.BRANCH: 1.0,
    Unit.CALL: 0.01,
}
"""Instructions that a core starts in a cycle, of the size of Zen 5; only ratios matter."""
LOADS, STORES, ISSUED = 2.0, 1.0, 8.0
"""Loads, stores and instructions of a cycle."""
LATENCY = {Unit.FMA: 4, Unit.ARITHMETIC: 3, Unit.SHUFFLE: 2, Unit.DIVISION: 13, Unit.GATHER: 20}
LOAD_LATENCY = 7
"""Cycles of a load, from the cache or of what has just been stored."""
PASSES = 3
"""Iterations of a loop until chains of results have their pace."""
ROLES = 1 << 16
"""Instructions whose roles are remembered."""
_REGISTER = re.compile(r"^\t[a-z]\w*\t.*%", re.MULTILINE)
"""An instruction on a register, in AT&T syntax."""


@dataclass(frozen=True, slots=True)
class InstructionRole:
    """What an instruction does beside its operation."""

    unit: Unit
    width: int
    loads: bool
    stores: bool
    on_stack: bool
    is_broadcast: bool


TOTALS = (
    *(f"{Unit.FMA}_{width}" for width in WIDTHS),
    *(f"{Unit.ARITHMETIC}_{width}" for width in WIDTHS),
    *(f"load_{width}" for width in WIDTHS),
    *(f"store_{width}" for width in WIDTHS),
    *("stack_load", "stack_store", "broadcast", "all", "lanes"),
    *(Unit.DIVISION, Unit.SHUFFLE, Unit.GATHER, Unit.MOVE, Unit.WHOLE, Unit.BRANCH, Unit.CALL),
    *("busy_cycles", "chain_cycles", "cycles"),
)
"""Sums over all blocks."""
HOTTEST = ("runs", "all", "lanes", "loads", "stores", "stack", "shuffle", "busy", "chain", "share")
"""Numbers of the block with the most cycles."""
COLUMNS = (
    *(f"code_{name}" for name in TOTALS),
    *(f"code_{name}_of_lane" for name in TOTALS if name != "lanes"),
    *(f"hot_{name}" for name in HOTTEST),
    *("code_size", "code_extent", "code_loops", "code_untold", "code_largest_loop"),
)


def describe_code(assembly: str, cores: int) -> NDArray[np.float32]:
    """Return one row of numbers for the code of a program that runs on some cores."""
    if not _REGISTER.search(assembly):
        raise CodeError("no registers of x86-64: this code is of another processor")
    functions = read_functions(assembly)
    blocks = [block for function in functions for block in function.run_blocks(cores)]
    counted = [(block, count_block(block)) for block in blocks]
    totals: dict[str, float] = defaultdict(float)
    for block, counts in counted:
        for name, count in counts.items():
            totals[name] += block.runs * count
    loops = [loop for function in functions for loop in function.loops]
    sizes = [
        sum(len(block.instructions) for block in function.blocks[loop.first : loop.last + 1])
        for function in functions
        for loop in function.loops
        if loop.trips is not None
    ]
    values = [_log(totals[name]) for name in TOTALS]
    lanes = _log(totals["lanes"])
    values += [_log(totals[name]) - lanes for name in TOTALS if name != "lanes"]
    values += _hottest(counted, totals["cycles"])
    values += [
        _log(sum(len(block.instructions) for block in blocks)),
        _log(max((function.extent for function in functions), default=1)),
        float(len(loops)),
        float(sum(loop.trips is None for loop in loops)),
        _log(max(sizes, default=0)),
    ]
    row = np.array(values, np.float32)
    if not (np.abs(row) <= np.finfo(np.float16).max).all():  # NaN too
        raise CodeError("loops that run too often for the numbers to be stored")
    return row


def _log(value: float) -> float:
    return float(np.log2(1.0 + value))


def _hottest(
    counted: Sequence[tuple[CodeBlock, Mapping[str, float]]], cycles: float
) -> list[float]:
    if not counted:
        return [0.0] * len(HOTTEST)
    block, counts = max(counted, key=lambda item: item[0].runs * item[1]["cycles"])
    amounts = (
        *(block.runs, counts["all"], counts["lanes"]),
        sum(counts[f"load_{width}"] for width in WIDTHS),
        sum(counts[f"store_{width}"] for width in WIDTHS),
        counts["stack_load"] + counts["stack_store"],
        *(counts[Unit.SHUFFLE], counts["busy_cycles"], counts["chain_cycles"]),
    )
    return [*map(_log, amounts), block.runs * counts["cycles"] / max(cycles, 1e-9)]


def count_block(block: CodeBlock) -> Mapping[str, float]:
    """Return the totals of one run of a block."""
    counts: dict[str, float] = dict.fromkeys(TOTALS, 0.0)
    busy: dict[Unit, float] = defaultdict(float)
    loads = stores = 0
    roles = [_role_of(item.name, item.operands) for item in block.instructions]
    for role in roles:
        busy[role.unit] += 1 / PER_CYCLE[role.unit]
        counts["all"] += 1
        if role.unit in (Unit.FMA, Unit.ARITHMETIC):
            counts[f"{role.unit}_{role.width}"] += 1
            counts["lanes"] += role.width
        else:
            counts[role.unit] += 1
        if role.loads:
            loads += 1
            counts[f"load_{role.width}"] += 1
            counts["broadcast"] += role.is_broadcast
            counts["stack_load"] += role.on_stack
        if role.stores:
            stores += 1
            counts[f"store_{role.width}"] += 1
            counts["stack_store"] += role.on_stack
    vectors = busy[Unit.FMA] + busy[Unit.ARITHMETIC] / 2
    counts["busy_cycles"] = max(
        *busy.values(), vectors, loads / LOADS, stores / STORES, len(roles) / ISSUED, 0.0
    )
    counts["chain_cycles"] = _chain(block, roles) if block.is_loop else 0.0
    counts["cycles"] = max(counts["busy_cycles"], counts["chain_cycles"])
    return counts


def _chain(block: CodeBlock, roles: Sequence[InstructionRole]) -> float:
    """Return the cycles of an iteration that waits for the results of the one before."""
    ready: dict[str, float] = {}
    ends = []
    moved = {item.operands[-1] for item in block.instructions if _moves_register(item)}
    for _ in range(PASSES):
        for item, role in zip(block.instructions, roles, strict=True):
            if role.unit in (Unit.BRANCH, Unit.CALL) or not item.operands:
                continue
            read = item.operands if _reads_result(item) else item.operands[:-1]
            begin = max((ready.get(_slot(name, moved), 0.0) for name in read), default=0.0)
            is_load = role.loads and role.unit is Unit.MOVE
            latency = LOAD_LATENCY if is_load else 1 if role.stores else LATENCY.get(role.unit, 1)
            if slot := _slot(item.operands[-1], moved):
                ready[slot] = begin + latency
        ends.append(max(ready.values(), default=0.0))
    return ends[-1] - ends[-2]


def _moves_register(item: Instruction) -> bool:
    """Return whether an instruction writes a general register."""
    return bool(item.operands) and item.operands[-1][0] == "%" and item.name[0] not in "vk"


def _reads_result(item: Instruction) -> bool:
    """Return whether an instruction reads what it writes: sums, and operations of two operands."""
    return item.name.startswith("vfm") or item.name[0] not in "vm"


@cache
def _vector(name: str) -> str:
    """Return one name for the parts of a vector register."""
    return "v" + name[4:] if name[1:4] in ("xmm", "ymm", "zmm") else name


def _slot(operand: str, moved: set[str]) -> str:
    """Return what an operand is: a register, memory at a fixed position, or memory that changes."""
    if operand[0] == "%":
        return _vector(operand.split(" ", 1)[0])
    if "(" not in operand or any(register in operand for register in moved):
        return ""
    return operand


@cache
def _unit_of(name: str) -> Unit:
    return next(
        (
            unit
            for unit, beginnings in BEGINNINGS.items()
            if name.startswith(tuple(beginnings.split()))
        ),
        Unit.WHOLE,
    )


@lru_cache(maxsize=ROLES)
def _role_of(name: str, operands: tuple[str, ...]) -> InstructionRole:
    unit = _unit_of(name)
    in_memory = ["(" in operand for operand in operands]
    if name.startswith("lea") or unit in (Unit.BRANCH, Unit.CALL):
        in_memory = []
    is_asking = name.startswith(("cmp", "test", "vucomi", "vcomi"))
    stores = bool(in_memory) and in_memory[-1] and not is_asking
    loads = any(in_memory[:-1]) or (any(in_memory) and (is_asking or unit is Unit.WHOLE))
    is_broadcast = loads and (name.startswith("vbroadcast") or "{1to" in "".join(operands))
    if loads and name.startswith("vbroadcast"):
        unit = Unit.MOVE  # a load does it
    on_stack = any(in_memory) and "%rsp" in "".join(operands)
    return InstructionRole(unit, _width_of(name, operands), loads, stores, on_stack, is_broadcast)


def _width_of(name: str, operands: tuple[str, ...]) -> int:
    text = "".join(operands)
    if name.endswith(("ss", "sd")) or name[0] != "v":
        return 1
    return 16 if "%zmm" in text else 8 if "%ymm" in text else 4 if "%xmm" in text else 1
