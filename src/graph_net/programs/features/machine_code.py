"""The machine code of a CPU program: its blocks, its loops, and how often each block runs.

Code is read as LLVM prints it for x86-64 (AT&T syntax). A block ends at a jump or before a label; a
loop is a jump back to a label, with all blocks in between. LLVM knows the bounds of the loops that
TVM makes, so they stand in the code: a counter has a start, a step and a limit. Nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

RUNTIME = ("__tvm_ffi_", "__tvm_set_raised", "__TVMBackend", "__trunc", "__extend", "__gnu_")
"""Beginnings of names of functions that check arguments or belong to a runtime."""
NOT_FUNCTIONS = (".Ltmp", ".Lfunc", ".Ldebug", ".Linfo", ".Lsection", ".LCPI", ".LJTI", ".L.str")
PARALLEL = "parallel_lambda"
"""In the name of a function that TVM runs on all threads."""
MOST_INSTRUCTIONS = 200_000
MOST_TRIPS = 1 << 30
MOST_COPIES = 4
"""Registers in a row from which a counter's start may have been copied."""
_OPERANDS = re.compile(r",\s*(?![^()]*\))")
_OFFSET = re.compile(r"(-?\d+)\((%\w+)\)")
_STEPS = ("inc", "dec", "add", "sub", "lea")
_FLAGS = (*_STEPS[:4], "cmp", "test", "and", "or", "xor", "neg", "sh", "sa", "imul")


class CodeError(ValueError):
    """Code that cannot be read."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """A mnemonic with its operands; the last operand is what it writes."""

    name: str
    operands: tuple[str, ...]


@dataclass(frozen=True)
class CodeBlock:
    """Instructions that run one after another."""

    label: str
    instructions: tuple[Instruction, ...]
    runs: float = 1.0
    """How often they run in one call of their function."""
    is_loop: bool = False
    """Whether it is a loop by itself: its last jump goes to its own label."""


@dataclass(frozen=True)
class CodeLoop:
    """Blocks from ``first`` to ``last``, which jumps back; ``trips`` is None where not told."""

    first: int
    last: int
    trips: float | None


@dataclass(frozen=True)
class CodeFunction:
    """The blocks of a function in the order of the code."""

    name: str
    blocks: tuple[CodeBlock, ...]

    @cached_property
    def extent(self) -> int:
        """How many iterations all threads share; 1 if the function is not parallel."""
        if PARALLEL not in self.name:
            return 1
        has_divided = False
        for instruction in self.blocks[0].instructions:
            has_divided = has_divided or instruction.name.startswith("idiv")
            if has_divided and instruction.name.startswith("cmp") and instruction.operands:
                return max(1, _constant(instruction.operands[0]) or 1)
        return 1

    @cached_property
    def loops(self) -> tuple[CodeLoop, ...]:
        """All loops, by their first block."""
        starts = {
            block.label: position for position, block in enumerate(self.blocks) if block.label
        }
        lasts: dict[int, int] = {}
        for position, block in enumerate(self.blocks):
            last = block.instructions[-1] if block.instructions else None
            if last is not None and last.name[0] == "j":
                start = starts.get(last.operands[0], position + 1)
                if start <= position:
                    lasts[start] = position
        return tuple(
            CodeLoop(first, last, self._trips(first, last)) for first, last in sorted(lasts.items())
        )

    def run_blocks(self, cores: int) -> list[CodeBlock]:
        """Return the blocks with how often one thread runs each; a shared loop is divided."""
        runs = [1.0] * len(self.blocks)
        for loop in self.loops:
            trips = loop.trips or (-(-self.extent // cores) if loop == self._shared else 1.0)
            for position in range(loop.first, loop.last + 1):
                runs[position] *= trips
        own = {loop.first for loop in self.loops if loop.first == loop.last}
        return [
            replace(block, runs=count, is_loop=position in own)
            for position, (block, count) in enumerate(zip(self.blocks, runs, strict=True))
        ]

    @cached_property
    def _shared(self) -> CodeLoop | None:
        """The loop over a thread's iterations: the longest that counts up to no constant."""
        untold = (loop for loop in self.loops if loop.trips is None and self._is_counted(loop.last))
        return max(untold, key=lambda loop: loop.last - loop.first, default=None)

    def _is_counted(self, position: int) -> bool:
        """Return whether a block ends with a comparison of two counters."""
        asked = _asked(self.blocks[position].instructions)
        return asked is not None and asked.name.startswith("cmp") and asked.operands[0][0] != "$"

    def _trips(self, first: int, last: int) -> float | None:
        """Return how often a loop runs, told by the counter that its last jump asks about."""
        body = [item for block in self.blocks[first : last + 1] for item in block.instructions]
        jump, asked = body[-1].name, _asked(body)
        if asked is None or jump == "jmp":
            return None
        counter = _name(asked.operands[-1])
        if asked.name.startswith("test"):
            return 2.0 if jump == "jne" and asked.operands[0] == "$1" else None  # one bit
        is_compared = asked.name.startswith("cmp")
        limit = _constant(asked.operands[0]) if is_compared else 0
        step = _step_of(body, asked, counter)
        if limit is None or step == 0:
            return None
        start = self._start_of(first, counter)
        more = jump in ("jle", "jbe", "jge", "jae")
        for begin in (start, 0):
            trips = (limit - begin) / step + more if begin is not None else 0.0
            if trips == int(trips) and 1 <= trips <= MOST_TRIPS:
                return trips
        return None

    def _start_of(self, first: int, counter: str, copies: int = 0) -> int | None:
        """Return the constant that a counter has when control reaches a block from above."""
        for block in reversed(self.blocks[:first]):
            for item in reversed(block.instructions):
                if not item.operands or _name(item.operands[-1]) != counter:
                    continue
                if item.name.startswith(("cmp", "test")):
                    continue
                if item.name.startswith("xor") and _name(item.operands[0]) == counter:
                    return 0
                if not item.name.startswith("mov"):
                    return None
                constant = _constant(item.operands[0])
                if constant is None and item.operands[0][0] == "%" and copies < MOST_COPIES:
                    return self._start_of(first, _name(item.operands[0]), copies + 1)
                return constant
        return None


def read_functions(assembly: str) -> list[CodeFunction]:
    """Return the functions of a program that compute, without those of the runtime."""
    return [CodeFunction(name, tuple(_blocks(lines))) for name, lines in _split(assembly)]


def _split(assembly: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each function's name with its instructions and labels."""
    name, lines, count = "", list[str](), 0
    for line in assembly.splitlines():
        if line[:1] == "\t":
            if name and line[1:2] not in (".", "#", ""):
                lines.append(line)
                count += 1
            if count > MOST_INSTRUCTIONS:
                raise CodeError(f"more than {MOST_INSTRUCTIONS:,} instructions")
            continue
        if line.startswith(".LBB"):
            lines.append(line)
        elif line.startswith(".Lfunc_end") or (
            ":" in line and not line.startswith((*NOT_FUNCTIONS, "#", " "))
        ):
            if name and lines:
                yield name, lines
            name, lines = line.split(":", 1)[0], []
            if line.startswith((".Lfunc_end", *RUNTIME)):
                name = ""
    if name and lines:
        yield name, lines


def _blocks(lines: Sequence[str]) -> Iterator[CodeBlock]:
    label, body = "", list[Instruction]()
    for line in lines:
        if line[0] == ".":
            if body:
                yield CodeBlock(label, tuple(body))
            label, body = line.split(":", 1)[0], []
            continue
        name, _, rest = line[1:].partition("\t")
        text = rest.split("#", 1)[0].strip()
        operands = tuple(_OPERANDS.split(text)) if text else ()
        if not name or not all(operands) or (name[0] == "j" and not operands):
            raise CodeError(f"not an instruction: {line.strip()[:80]!r}")
        body.append(Instruction(name, operands))
        if name[0] == "j":
            yield CodeBlock(label, tuple(body))
            label, body = "", []
    if body:
        yield CodeBlock(label, tuple(body))


def _constant(operand: str) -> int | None:
    try:
        return int(operand[1:]) if operand[0] == "$" else None
    except ValueError:
        return None


def _name(operand: str) -> str:
    """Return what an operand names: a register of 64 bits, or memory by its text."""
    return REGISTERS.get(operand[1:], operand[1:]) if operand[0] == "%" else operand


def _asked(body: Sequence[Instruction]) -> Instruction | None:
    """Return the instruction that set the flags that the last jump asks about."""
    setting = (item for item in body[-2::-1] if item.name.startswith(_FLAGS))
    return next((item for item in setting if item.operands), None)


def _step_of(body: Sequence[Instruction], asked: Instruction, counter: str) -> int:
    """Return the constant that is added to a counter before it is asked about; 0 if not told."""
    end = next(position for position, item in enumerate(body) if item is asked)
    for item in reversed(body[: end + 1]):
        if not item.operands or _name(item.operands[-1]) != counter:
            continue
        if item.name.startswith(_STEPS):
            return _added_by(item)
        if item.name.startswith("mov"):
            return 0
    return 0


def _added_by(item: Instruction) -> int:
    """Return the constant that an instruction adds to a register; 0 if it is none."""
    kind = item.name[:3]
    if kind in ("inc", "dec"):
        return 1 if kind == "inc" else -1
    if kind == "lea":
        offset = _OFFSET.fullmatch(item.operands[0])
        return int(offset[1]) if offset else 0
    constant = _constant(item.operands[0]) or 0
    return constant if kind == "add" else -constant


def _registers() -> Iterator[tuple[str, str]]:
    for letter in "abcd":
        for name in (f"r{letter}x", f"e{letter}x", f"{letter}x", f"{letter}l", f"{letter}h"):
            yield name, f"r{letter}x"
    for letters in ("si", "di", "bp", "sp"):
        for name in (f"r{letters}", f"e{letters}", letters, f"{letters}l"):
            yield name, f"r{letters}"
    for number in range(8, 16):
        for ending in ("", "d", "w", "b"):
            yield f"r{number}{ending}", f"r{number}"


REGISTERS = dict(_registers())
"""The register of 64 bits that each name of a general register is a part of."""
