"""ConfigGraph: a graph as numbers, the configurations that were run on it, and their run times.

A layout configuration is a short vector of codes, one byte per configurable node; a code names one
of the few settings that occur in the file. Equal configurations are stored once, and every run
refers to one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graph_net.results.config import ConfigKind
from graph_net.store.lines import ReadError

Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Codes = NDArray[np.uint8] | NDArray[np.uint16]
TENSORS, DIMENSIONS = 3, 6
"""A layout is the minor-to-major order of output, input and kernel, of up to six dimensions."""
SLOTS = TENSORS * DIMENSIONS


@dataclass(frozen=True)
class NodeTable:
    """A graph as numbers: TpuGraphs' 140 features of each node, its opcode, and the edges."""

    features: Floats32
    opcodes: Bytes
    edges: Ints32
    """Rows of (consumer, operand)."""
    splits: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """Where the major computations of a module end; empty for kernels."""
    dots: Floats32 | None = None
    """Columns of ``DOT_COLUMNS``, if read from a protobuf."""

    def __post_init__(self) -> None:
        count = len(self.opcodes)
        if not count or len(self.features) != count:
            raise ReadError(f"{count} opcodes for {len(self.features)} rows of features")
        if self.edges.size and not 0 <= self.edges.min() <= self.edges.max() < count:
            raise ReadError(f"an edge leads out of the {count} nodes")
        if not np.isfinite(self.features).all():
            raise ReadError("features are finite numbers")

    def __len__(self) -> int:
        return len(self.opcodes)


@dataclass(frozen=True)
class LayoutConfigs:
    """Distinct layout configurations: a code per configurable node, and the meaning of codes."""

    nodes: Ints
    """The configurable nodes."""
    settings: NDArray[np.int8]
    """For each code, the eighteen slots; -1 if a dimension is not set."""
    codes: Codes
    """Shape: configurations × configurable nodes."""

    kind = ConfigKind.LAYOUT

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, wanted: Ints | Ints32) -> LayoutConfigs:
        """Return some configurations."""
        return replace(self, codes=self.codes[wanted])

    def slots(self, wanted: Ints | Ints32) -> NDArray[np.int8]:
        """Return some configurations in TpuGraphs' form: (configurations, nodes, 18)."""
        return self.settings[self.codes[wanted]]

    @cached_property
    def tensor_orders(self) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Return, by setting code, the order codes of each tensor, and the table of orders."""
        orders = self.settings.reshape(-1, DIMENSIONS)
        table, index = np.unique(orders, axis=0, return_inverse=True)
        return index.reshape(-1, TENSORS).astype(np.int32), table


@dataclass(frozen=True)
class TileConfigs:
    """Distinct tile configurations: kernel, output and input bounds, with sums and products."""

    features: Floats32
    """Shape: configurations × 24."""

    kind = ConfigKind.TILE

    def __len__(self) -> int:
        return len(self.features)

    def take(self, wanted: Ints) -> TileConfigs:
        """Return some configurations."""
        return TileConfigs(self.features[wanted])

    def bounds(self) -> Ints:
        """Return kernel, output and input bounds: (configurations, 3, 6), 0 if absent."""
        return self.features.reshape(-1, 3, 8)[:, :, :6].astype(np.int64)


@dataclass(frozen=True)
class ConfigGraph:
    """A graph with its configurations and their runs, in file order."""

    name: str
    nodes: NodeTable
    configs: LayoutConfigs | TileConfigs
    run_config: Ints32
    """Index of each run's configuration."""
    run_ns: Ints
    """Nanoseconds; 0 in the test files, whose labels are withheld."""
    normalizers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """For tiles: the divisor of each run's time."""
    default: int | None = None
    """The run of the compiler's own choice, if read from a protobuf."""
    collection: str = ""
    """Such as ``layout:xla:default``."""
    split: str = ""

    def __post_init__(self) -> None:
        if len(self.run_ns) != len(self.run_config):
            raise ReadError(f"{len(self.run_ns)} run times for {len(self.run_config)} runs")
        if self.run_ns.size and self.run_ns.min() < 0:
            raise ReadError("a run time is negative")

    @property
    def kind(self) -> ConfigKind:
        """Whether configurations are layouts or tiles."""
        return self.configs.kind

    @property
    def has_labels(self) -> bool:
        """Whether run times are known; test files have zeros."""
        return bool(self.run_ns.size and self.run_ns.min() > 0)

    @cached_property
    def repeats(self) -> Ints:
        """How many runs each configuration has."""
        return np.bincount(self.run_config, minlength=len(self.configs))

    def seconds(self) -> list[NDArray[np.float64]]:
        """Return the seconds of every run of each configuration, in the order of the file."""
        order = np.argsort(self.run_config, kind="stable")
        return np.split(self.run_ns[order] / 1e9, np.cumsum(self.repeats)[:-1])

    def costs(self) -> NDArray[np.float64]:
        """Return the median seconds of each configuration."""
        return np.array([np.median(runs) for runs in self.seconds()])
