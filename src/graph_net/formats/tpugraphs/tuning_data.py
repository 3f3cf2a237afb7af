"""TpuGraphs' protobuf files: modules with the runs of their configurations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graph_net.formats.tpugraphs.hlo import HloModule
from graph_net.formats.tpugraphs.wire import WireMessage
from graph_net.store.files import read_bytes
from graph_net.store.lines import ReadError

MOST_BYTES = 1 << 30
TENSORS, DIMENSIONS = 3, 6
"""The tensors of a layout (output, input and kernel), and the dimensions kept of each."""
Layout = tuple[tuple[int, ...], ...]
"""The minor-to-major order of each tensor of a node."""


@dataclass(frozen=True)
class TunedRun:
    """One run: its configuration, its time, and whether it is the compiler's own choice."""

    nanoseconds: int
    is_default: bool
    failed: bool
    tile: tuple[tuple[int, ...], ...] = ()
    """Kernel, output and input bounds."""
    layout: tuple[Layout, ...] = ()
    """A layout for each configurable node."""

    @property
    def counts(self) -> bool:
        """Whether TpuGraphs takes the run: it did not fail, and took more than 1 ns."""
        return not self.failed and self.nanoseconds > 1


@dataclass(frozen=True)
class TunedModule:
    """A module and the runs of its configurations."""

    hlo: HloModule
    fingerprint: int
    runs: tuple[TunedRun, ...]
    config_nodes: tuple[int, ...]
    """The node that each entry of a layout belongs to."""


def read_tuning_data(path: Path) -> Iterator[TunedModule]:
    """Yield the modules of a file; raise ReadError, naming the file, if it holds none.

    A file is ``TuningData`` (kernels with tiles) or ``ModuleTuningData`` (a graph with layouts);
    its first field shows which.
    """
    try:
        top = WireMessage.parse(read_bytes(path, MOST_BYTES))
        is_module = any(map(_is_module, top.raw(1)))
        for message in [top] if is_module else top.messages(1):
            yield _module(message)
    except ReadError as error:
        raise ReadError(f"{path} is not TpuGraphs' protobuf: {error}") from error


def _is_module(data: memoryview) -> bool:
    """Return whether bytes are an HloModuleProto (a name first), not ModuleTuningData."""
    names = WireMessage.parse(data).fields.get(1, [0])
    if isinstance(names[0], int):
        raise ReadError("its first field is neither a module nor modules with runs")
    try:
        inner = WireMessage.parse(names[0])
    except ReadError:
        return True
    return not inner.has(3)  # a module has computations


def _module(message: WireMessage) -> TunedModule:
    runs = tuple(map(_run, message.messages(3)))
    module = HloModule.read(message.message(1))
    if not module.computations:
        raise ReadError("a module has no computation")
    return TunedModule(module, message.unsigned(2), runs, message.integers(4))


def _run(message: WireMessage) -> TunedRun:
    tile = message.message(1).message(1)
    layout = message.message(2).message(1)
    return TunedRun(
        message.message(4).integer(4),
        bool(message.integer(5)),
        bool(message.integer(3)) or not message.has(4),
        tuple(tile.integers(number) for number in range(1, 4)) if message.has(1) else (),
        tuple(
            tuple(one.integers(1)[:DIMENSIONS] for one in node.messages(1))
            for node in layout.messages(1)
        ),
    )
