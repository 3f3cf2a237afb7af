"""The loops of a CPU schedule, read from the instructions of a trace of MetaSchedule.

A block is tiled for a CPU as SSRSRS: four parts of each spatial loop, two of each loop of a sum.
Sizes are decisions, so a nest refers to them: traces with the same instructions share one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graph_net.programs.spaces.magnitudes import number
from graph_net.programs.spaces.traces import CHOICE, LOCATION, POSTPROC

SPATIAL_PARTS, SUM_PARTS = 4, 2
NEST = 6
"""Loops from which on a reordering is that of a tiled block."""
COUNTS = (
    "cache_writes", "rfactors", "inlined", "blocks", "computed_at", "spatial_loops", "sum_loops",
    "decomposed_at", "finished_blocks", "factored_part",
)  # fmt: skip
_COUNTED = {
    "CacheWrite": "cache_writes",
    "RFactor": "rfactors",
    "ComputeInline": "inlined",
    "ReverseComputeInline": "inlined",
    "ComputeAt": "computed_at",
    "GetSBlock": "blocks",
}


class Drawn(NamedTuple):
    """A number of a trace: of a decision, or one that never varies."""

    instruction: int = -1
    item: int = 0
    constant: float = 1.0


@dataclass
class ScheduledBlock:
    """A block after postprocessing: its loops, and how many run on threads and as vectors."""

    loops: list[str]
    parallel: int = 0
    vector: int = 0


@dataclass
class LoopNest:
    """What traces with the same instructions have in common."""

    spatial: list[list[Drawn]] = field(default_factory=list)
    sums: list[list[Drawn]] = field(default_factory=list)
    order: list[Drawn] = field(default_factory=list)
    """The loops of the tiled block from the outside in."""
    unroll: Drawn = field(default_factory=lambda: Drawn(constant=0.0))
    choices: dict[int, list[Any]] = field(default_factory=dict)
    consumers: list[int] = field(default_factory=list)
    """The place in ``order`` at which each consumer is computed; -1 if elsewhere."""
    locations: list[Drawn] = field(default_factory=list)
    counts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0.0))
    blocks: list[ScheduledBlock] = field(default_factory=list)
    names: str = ""

    @property
    def tiled(self) -> ScheduledBlock:
        """The block whose loops are those of ``order``, but for the fused ones."""
        size = len(self.order)
        near = [block for block in self.blocks if size and abs(len(block.loops) - size) < NEST // 2]
        return min(near, key=lambda block: abs(len(block.loops) - size), default=ScheduledBlock([]))

    def operands(self) -> tuple[list[int], list[int]]:
        """Return the spatial loops that index the left and the right operand."""
        count = len(self.spatial)
        if count == 2:
            return [0], [1]
        if count == 3:
            return [0, 1], [0, 2]
        if count == 4 and len(self.sums) == 2:  # depthwise
            return [0, 1, 2, 3], [1]
        if count >= 4:
            return [0, *range(2, count)], [1]
        return [*range(count)], []


def read_nest(instructions: list[Any]) -> LoopNest:
    """Return the nest of a trace's instructions."""
    return _NestReader().read(instructions)


class _NestReader:
    """Walks over the instructions of a trace once."""

    def __init__(self) -> None:
        self.nest = LoopNest()
        self.drawn: dict[str, Drawn] = {}
        self.extents: dict[str, Drawn] = {}
        self.order: list[str] = []
        self.consumers: list[str] = []
        self.fused: dict[str, int] = {}

    def read(self, instructions: list[Any]) -> LoopNest:
        finishing = False
        for index, (name, inputs, attributes, outputs) in enumerate(instructions):
            if name == POSTPROC:
                finishing = True
            elif finishing:
                self._finish(name, inputs, outputs)
            elif str(name).startswith("Sample"):
                self._sample(index, name, attributes, outputs)
            else:
                self._schedule(name, inputs, attributes, outputs)
        nest = self.nest
        nest.order = [self.extents.get(loop, Drawn()) for loop in self.order]
        nest.consumers = [
            self.order.index(loop) if loop in self.order else -1 for loop in self.consumers
        ]
        nest.counts |= {
            "spatial_loops": len(nest.spatial),
            "sum_loops": len(nest.sums),
            "finished_blocks": len(nest.blocks),
        }
        return nest

    def _sample(self, index: int, name: str, attributes: list[Any], outputs: list[str]) -> None:
        for item, output in enumerate(outputs):
            self.drawn[output] = Drawn(index, item)
        if name == CHOICE:
            self.nest.choices[index] = list(attributes[0])
        elif name == LOCATION:
            self.nest.locations.append(Drawn(index))

    def _schedule(
        self, name: str, inputs: list[Any], attributes: list[Any], outputs: list[str]
    ) -> None:
        if name in _COUNTED:
            self.nest.counts[_COUNTED[name]] += 1
        if name == "GetSBlock":
            self.nest.names += f" {attributes[0]}"
        elif name == "Split":
            self._split([self._drawn(value) for value in inputs[1:]], outputs)
        elif name == "Reorder" and len(inputs) >= NEST:
            self.order = list(inputs)
        elif name == "ReverseComputeAt":
            self.consumers.append(inputs[1])
        elif name == "RFactor":
            self.nest.counts["factored_part"] = 1 + self.extents.get(inputs[0], Drawn()).item
        elif name == "Annotate" and "unroll" in str(attributes):
            self.nest.unroll = self._drawn(inputs[1])

    def _split(self, parts: list[Drawn], outputs: list[str]) -> None:
        self.extents |= zip(outputs, parts, strict=False)
        if len(parts) == SPATIAL_PARTS:
            self.nest.spatial.append(parts)
        elif len(parts) == SUM_PARTS:
            self.nest.sums.append(parts)

    def _drawn(self, value: Any) -> Drawn:
        if isinstance(value, str):
            return self.drawn.get(value, Drawn(constant=0.0))
        return Drawn(constant=number(value))

    def _finish(self, name: str, inputs: list[Any], outputs: list[str]) -> None:
        """Read what runs on threads and as vectors: instructions of the block before them."""
        if name == "GetLoops":
            self.nest.blocks.append(ScheduledBlock(list(outputs)))
        if not self.nest.blocks:
            return
        block = self.nest.blocks[-1]
        if name == "Fuse":
            self.fused[outputs[0]] = len(inputs)
        elif name == "Parallel":
            block.parallel = self.fused.get(inputs[0], 1)
        elif name == "Vectorize":
            block.vector = self.fused.get(inputs[0], 1)
        elif name == "DecomposeReduction":
            at = block.loops.index(inputs[1]) if inputs[1] in block.loops else -1
            self.nest.counts["decomposed_at"] = at
