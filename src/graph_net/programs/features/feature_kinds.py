"""The kinds of features: the keys of a row, the columns, and the version of both."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from graph_net.programs.features import code_features, graph_features, per_store
from graph_net.programs.spaces import ansor_gpu, ansor_steps, primitives

HALF, SINGLE, WHOLE = pa.float16(), pa.float32(), pa.int32()
"""Magnitudes on a log scale need only half precision."""


@dataclass(frozen=True)
class FeatureColumn:
    """Numbers of one row: an array of ``shape``, or with ``ragged`` any number of such arrays."""

    name: str
    type: pa.DataType
    shape: tuple[int, ...]
    ragged: bool = False

    @property
    def width(self) -> int:
        """How many numbers one array has."""
        return self.shape[0] if len(self.shape) == 1 else self.shape[0] * self.shape[1]

    @property
    def field(self) -> pa.Field:
        """The column's Arrow field."""
        array = pa.list_(pa.field("item", self.type, nullable=False), self.width)
        return pa.field(self.name, pa.list_(array) if self.ragged else array)


@dataclass(frozen=True)
class FeatureKind:
    """Features of one definition; another version counts as another kind."""

    name: str
    version: int
    keys: tuple[str, ...]
    columns: tuple[FeatureColumn, ...]

    @property
    def prefix(self) -> str:
        """Prefix of its file names."""
        return f"features-{self.name}-{self.version}-"

    @property
    def schema(self) -> pa.Schema:
        """Keys, numbers, and the reason if there are none."""
        types = {"program": pa.uint64()}
        return pa.schema(
            [
                *(pa.field(key, types.get(key, pa.string())) for key in self.keys),
                *(column.field for column in self.columns),
                pa.field("reason", pa.string()),
            ],
            metadata={"graph_net.features": f"{self.name} {self.version}"},
        )


def _values(type: pa.DataType, *shape: int, ragged: bool = False) -> tuple[FeatureColumn, ...]:
    return (FeatureColumn("values", type, shape, ragged),)


_STEPS = ansor_steps.VERSION
METASCHEDULE = FeatureKind(
    "primitives_metaschedule", primitives.VERSION, ("program",), _values(HALF, *primitives.SHAPE)
)
ANSOR_CPU = FeatureKind(
    "primitives_ansor_cpu",
    _STEPS,
    ("program",),
    _values(HALF, ansor_steps.CPU_LENGTH, ansor_steps.WIDTH),
)
ANSOR_GPU = FeatureKind(
    "primitives_ansor_gpu",
    _STEPS,
    ("program",),
    _values(HALF, ansor_steps.GPU_LENGTH, ansor_steps.WIDTH),
)
ANSOR_DEVICE = FeatureKind(
    "ansor_gpu",
    ansor_gpu.VERSION,
    ("device", "task", "program"),
    _values(SINGLE, len(ansor_gpu.NAMES)),
)
"""Features of a program on a GPU; the device is a key because Ansor's tasks do not name it."""
PER_STORE = FeatureKind(
    "per_store",
    per_store.VERSION,
    ("task", "program"),
    _values(HALF, per_store.WIDTH, ragged=True),
)
MACHINE_CODE = FeatureKind(
    "machine_code",
    code_features.VERSION,
    ("task", "program"),
    _values(HALF, len(code_features.COLUMNS)),
)
GRAPH = FeatureKind(
    "graph",
    graph_features.VERSION,
    ("graph",),
    (
        FeatureColumn("summary", SINGLE, (len(graph_features.SUMMARY_COLUMNS),)),
        FeatureColumn("nodes", SINGLE, (len(graph_features.NODE_COLUMNS),), ragged=True),
        FeatureColumn("edges", WHOLE, (3,), ragged=True),
    ),
)
KINDS = {
    kind.name: kind
    for kind in (
        METASCHEDULE,
        ANSOR_CPU,
        ANSOR_GPU,
        ANSOR_DEVICE,
        PER_STORE,
        MACHINE_CODE,
        GRAPH,
    )
}
