"""The parameters of configurations, as numbers that a model of GPU programs can use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graph_net.learn.metrics import Floats, Ints

DIVISOR = "divisor"
Columns = dict[str, list[float]]


@dataclass(frozen=True)
class Parameter:
    """The values that one parameter takes in a space."""

    codes: Ints
    """Index of the value of each program."""
    features: Floats
    """Standardised features of each value: values × features."""

    @cached_property
    def squares(self) -> Floats:
        """Squared difference of each two values, by feature: features × values × values."""
        return np.moveaxis((self.features[:, None] - self.features) ** 2, 2, 0)


def parameter_columns(configs: Sequence[Mapping[str, Any]]) -> dict[str, Columns]:
    """Return the columns of each parameter that varies.

    A number becomes its logarithm and, if that varies, the largest power of two that divides it:
    GPUs work in powers of two. A text becomes its index in sorted order.
    """
    columns = {}
    for name in sorted(configs[0]):
        values = [config[name] for config in configs]
        texts = sorted(set(map(str, values)))
        if len(texts) < 2:
            continue
        if all(isinstance(value, int) and value > 0 for value in values):
            columns[name] = {
                name: [math.log2(value) for value in values],
                f"{name} {DIVISOR}": [math.log2(value & -value) for value in values],
            }
        elif all(isinstance(value, int | float) for value in values):
            columns[name] = {name: [float(value) for value in values]}
        else:
            order = {text: float(index) for index, text in enumerate(texts)}
            columns[name] = {name: [order[str(value)] for value in values]}
    return columns


def space_parameters(configs: Sequence[Mapping[str, Any]]) -> tuple[Parameter, ...]:
    """Return the parameters that vary, their features standardised over the space."""
    return tuple(_parameter(columns) for columns in parameter_columns(configs).values())


def _parameter(columns: Columns) -> Parameter:
    distinct = dict.fromkeys(tuple(column) for column in columns.values())
    rows = np.array([column for column in distinct if len(set(column)) > 1], np.float64).T
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    values, codes = np.unique(rows, axis=0, return_inverse=True)
    return Parameter(codes.ravel().astype(np.int64), values)
