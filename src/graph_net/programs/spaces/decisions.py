"""Encode decisions as features without a trace's text: whole populations, or single changes.

Traces with the same instructions differ only in their decisions. A population of them is a table: a
row per trace, a column per number drawn (a tile size, the index of a choice, a location). A
mutation changes one decision, so its features are a copy of the parent's with the numbers of this
decision replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.spaces.magnitudes import Floats, log_magnitude, number
from graph_net.programs.spaces.primitives import SHAPE, Template, TraceEncoder, fill_in

Decisions = Mapping[int, Any]
"""The decision of each instruction, by the instruction's index."""
Table = NDArray[np.float64]
SIZE = SHAPE[0] * SHAPE[1]


class Slot(NamedTuple):
    """A column of a table: an instruction, and which of its drawn numbers."""

    instruction: int
    item: int


class DecisionChange(NamedTuple):
    """One changed decision of a parent."""

    parent: int
    instruction: int
    drawn: Any


class _Filling(NamedTuple):
    """The target of a table column; a choice's index is replaced by the choice's magnitude."""

    position: int
    column: int
    magnitudes: Floats | None


class DecisionEncoder:
    """Encodes decisions as features, for traces that have the same instructions."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._holes = {hole[0]: [hole] for hole in template.holes}
        self._draws = [
            (instruction, choices, sorted({item for item, _ in holes}) if choices is None else [0])
            for instruction, choices, holes in template.holes
        ]
        self.slots = tuple(Slot(index, item) for index, _, items in self._draws for item in items)
        self._fillings = list(_fillings(template, self.slots))

    @staticmethod
    def of(schedule: str) -> tuple[DecisionEncoder, dict[int, Any]]:
        """Return an encoder for traces like this one, and the trace's decisions."""
        template, drawn = TraceEncoder().read(schedule)
        return DecisionEncoder(template), drawn

    def table(self, population: Sequence[Decisions]) -> Table:
        """Return the decisions of a population, one column per entry of ``slots``.

        A choice is its index; -1 if the value is not among the choices.
        """
        rows = [self._row(decisions) for decisions in population]
        return np.array(rows, np.float64).reshape(len(rows), len(self.slots))

    def _row(self, decisions: Decisions) -> list[float]:
        row: list[float] = []
        for instruction, choices, items in self._draws:
            drawn = decisions.get(instruction)
            if choices is None:
                row += [number(_item(drawn, item)) for item in items]
            else:
                known = isinstance(drawn, int) and 0 <= drawn < len(choices)
                row.append(drawn if known else -1)  # type: ignore[arg-type]
        return row

    def encode_table(self, table: Table) -> Floats:
        """Return the features of each row of a table."""
        features = np.tile(self._template.base, (len(table), 1))
        for position, column, magnitudes in self._fillings:
            drawn = table[:, column]
            features[:, position] = (
                log_magnitude(drawn) if magnitudes is None else magnitudes[drawn.astype(np.intp)]
            )
        return features.reshape(-1, *SHAPE)

    def encode_many(self, population: Sequence[Decisions]) -> Floats:
        """Return the features of a population."""
        return self.encode_table(self.table(population))

    def encode_change(self, parent: Floats, instruction: int, drawn: Any) -> Floats:
        """Return the features of a parent after one changed decision."""
        change = DecisionChange(0, instruction, drawn)
        return np.asarray(self.encode_changes(parent[None], [change])[0])

    def encode_changes(self, parents: Floats, changes: Sequence[DecisionChange]) -> Floats:
        """Return the features of each change, applied to one of the parents."""
        features = parents[np.array([change.parent for change in changes], np.intp)]
        positions: list[int] = []
        values: list[float] = []
        for row, (_, instruction, drawn) in enumerate(changes):
            holes = self._holes.get(instruction, [])
            fill_in(holes, {instruction: drawn}, row * SIZE, positions, values)
        features.reshape(-1)[positions] = log_magnitude(values)
        return features


def _fillings(template: Template, slots: Sequence[Slot]) -> Iterator[_Filling]:
    columns = {slot: column for column, slot in enumerate(slots)}
    for instruction, choices, holes in template.holes:
        for item, position in holes:
            if choices is None:
                yield _Filling(position, columns[Slot(instruction, item)], None)
            else:
                values = [number(_item(choice, item)) for choice in choices]
                # Index -1 (not a choice) selects the last entry, which is 0.
                magnitudes = log_magnitude([*values, 0.0])
                yield _Filling(position, columns[Slot(instruction, 0)], magnitudes)


def _item(drawn: Any, item: int) -> Any:
    """Return one of several numbers drawn together, or the only one."""
    if not isinstance(drawn, list):
        return drawn
    return drawn[item] if item < len(drawn) else None
