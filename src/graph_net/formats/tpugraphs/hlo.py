"""An HLO module as TpuGraphs' protobuf files hold it: computations and their instructions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from graph_net.formats.tpugraphs.wire import WireMessage
from graph_net.store.lines import ReadError

MOST_INSTRUCTIONS = 1 << 20
MOST_RANK = 64
INVALID, PRED, S8, S16, S32, S64, U8, U16, U32, U64 = range(10)
F16, F32, F64, TUPLE, OPAQUE, C64, BF16, TOKEN, C128 = range(10, 19)
DTYPES = {
    PRED: "bool", S8: "int8", S16: "int16", S32: "int32", S64: "int64", U8: "uint8",
    U16: "uint16", U32: "uint32", U64: "uint64", F16: "float16", F32: "float32", F64: "float64",
    BF16: "bfloat16", C64: "complex64", C128: "complex128",
}  # fmt: skip
"""Dtypes by XLA's number of an element type; tuples, tokens and opaque values have none."""


@dataclass(frozen=True)
class HloShape:
    """The element type, sizes and layout of a value; a tuple has parts instead."""

    element_type: int = INVALID
    sizes: tuple[int, ...] = ()
    minor_to_major: tuple[int, ...] = ()
    parts: int = 0

    @staticmethod
    def read(message: WireMessage) -> HloShape:
        """Return the shape of a ShapeProto."""
        sizes = message.integers(3)
        if len(sizes) > MOST_RANK or min(sizes, default=0) < 0:
            raise ReadError(f"a shape of {len(sizes)} sizes, the least {min(sizes, default=0)}")
        layout = message.message(5).integers(1)
        return HloShape(message.integer(2), sizes, layout, len(message.fields.get(4, ())))


@dataclass(frozen=True)
class WindowDimension:
    """One dimension of a window."""

    size: int
    stride: int
    padding_low: int
    padding_high: int
    window_dilation: int
    base_dilation: int
    reversal: int


@dataclass(frozen=True)
class ConvolutionDimensions:
    """The role of each dimension of a convolution's tensors."""

    input_batch: int = 0
    input_feature: int = 0
    input_spatial: tuple[int, ...] = ()
    kernel_input_feature: int = 0
    kernel_output_feature: int = 0
    kernel_spatial: tuple[int, ...] = ()
    output_batch: int = 0
    output_feature: int = 0


@dataclass(frozen=True)
class DotDimensions:
    """Which dimensions of a matrix product are summed over, and which are batches."""

    lhs_contracting: tuple[int, ...] = ()
    rhs_contracting: tuple[int, ...] = ()
    lhs_batch: tuple[int, ...] = ()
    rhs_batch: tuple[int, ...] = ()


@dataclass(frozen=True)
class HloInstruction:
    """One instruction, with the fields that a cost model may use."""

    id: int
    name: str
    opcode: str
    shape: HloShape
    operands: tuple[int, ...] = ()
    called: tuple[int, ...] = ()
    """Ids of the computations that it calls."""
    parameter_number: int = 0
    tuple_index: int = 0
    dimensions: tuple[int, ...] = ()
    window: tuple[WindowDimension, ...] = ()
    convolution: ConvolutionDimensions = field(default_factory=ConvolutionDimensions)
    dot: DotDimensions = field(default_factory=DotDimensions)
    feature_group_count: int = 0
    batch_group_count: int = 0
    slices: tuple[tuple[int, int, int], ...] = ()
    """Start, limit and stride of each dimension."""
    dynamic_slice_sizes: tuple[int, ...] = ()
    padding: tuple[tuple[int, int], ...] = ()
    """Low and high of each dimension."""
    is_stable: bool = False

    @staticmethod
    def read(message: WireMessage) -> HloInstruction:
        """Return the instruction of an HloInstructionProto; literals are skipped."""
        return HloInstruction(
            id=message.integer(35),
            name=message.text(1),
            opcode=message.text(2),
            shape=HloShape.read(message.message(3)),
            operands=message.integers(36),
            called=message.integers(38),
            parameter_number=message.integer(9),
            tuple_index=message.integer(13),
            dimensions=message.integers(14),
            window=tuple(map(_window, message.message(15).messages(1))),
            convolution=_convolution(message.message(16)),
            dot=DotDimensions(*(message.message(30).integers(n) for n in range(1, 5))),
            feature_group_count=message.integer(50),
            batch_group_count=message.integer(58),
            slices=tuple(
                (one.integer(1), one.integer(2), one.integer(3)) for one in message.messages(17)
            ),
            dynamic_slice_sizes=message.integers(20),
            padding=tuple(
                (one.integer(1), one.integer(2)) for one in message.message(21).messages(1)
            ),
            is_stable=bool(message.integer(60)),
        )


@dataclass(frozen=True)
class HloComputation:
    """A computation: instructions, operands before their users, and the one it returns."""

    id: int
    name: str
    root: int
    instructions: tuple[HloInstruction, ...]


@dataclass(frozen=True)
class HloModule:
    """A module: computations, callees before their callers."""

    name: str
    computations: tuple[HloComputation, ...]

    @staticmethod
    def read(message: WireMessage) -> HloModule:
        """Return the module of an HloModuleProto; raise ReadError if it is too large."""
        computations, count = [], 0
        for one in message.messages(3):
            count += len(one.fields.get(2, ()))
            if count > MOST_INSTRUCTIONS:
                raise ReadError(f"a module of more than {MOST_INSTRUCTIONS} instructions")
            inside = tuple(map(HloInstruction.read, one.messages(2)))
            computations.append(HloComputation(one.integer(5), one.text(1), one.integer(6), inside))
        return HloModule(message.text(1), tuple(computations))

    def instructions(self) -> Iterator[tuple[HloComputation, HloInstruction]]:
        """Yield every instruction with its computation, in the order of TpuGraphs' nodes."""
        for computation in self.computations:
            for instruction in computation.instructions:
                yield computation, instruction


def _window(message: WireMessage) -> WindowDimension:
    return WindowDimension(*(message.integer(number) for number in range(1, 8)))


def _convolution(message: WireMessage) -> ConvolutionDimensions:
    return ConvolutionDimensions(
        message.integer(7),
        message.integer(8),
        message.integers(11),
        message.integer(3),
        message.integer(4),
        message.integers(6),
        message.integer(9),
        message.integer(10),
    )
