"""Layouts as codes: a node's settings become numbers, and equal configurations are merged."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from graph_net.configs.config_graph import SLOTS, Codes, Ints, LayoutConfigs
from graph_net.store.lines import ReadError

BASE = 7
"""Values of a slot: a dimension from 0 to 5, or -1."""
_POWERS = BASE ** np.arange(SLOTS, dtype=np.uint64)
MOST_SETTINGS = 1 << 16
MOST_CODES = 2 << 30
"""Most bytes of a graph's codes."""


class LayoutCoder:
    """Collects configurations in batches; memory grows only with distinct ones."""

    def __init__(self, nodes: Ints) -> None:
        self.nodes = nodes
        self._known: dict[int, int] = {}
        self._configs: dict[bytes, int] = {}
        self._size = 0

    def add(self, slots: NDArray[np.generic]) -> NDArray[np.int32]:
        """Add configurations (configurations, nodes, 18); return the index of each."""
        keys = setting_keys(slots)
        found, inverse = np.unique(keys, return_inverse=True)
        codes = [self._known.setdefault(key, len(self._known)) for key in found.tolist()]
        if len(self._known) > MOST_SETTINGS:
            raise ReadError(f"nodes have more than {MOST_SETTINGS} different settings")
        rows = np.array(codes, np.uint16)[inverse.reshape(keys.shape)]
        return np.array([self._place(row) for row in rows], np.int32)

    def _place(self, row: NDArray[np.uint16]) -> int:
        data = row.tobytes()
        place = self._configs.setdefault(data, len(self._configs))
        if place == len(self._configs) - 1:
            self._size += len(data)
            if self._size > MOST_CODES:
                raise ReadError(f"distinct configurations take more than {MOST_CODES} bytes")
        return place

    def finish(self) -> LayoutConfigs:
        """Return the distinct configurations, in order of first occurrence."""
        data = b"".join(self._configs)
        codes: Codes = np.frombuffer(data, np.uint16).reshape(len(self._configs), len(self.nodes))
        if len(self._known) <= 1 << 8:
            codes = codes.astype(np.uint8)
        keys = np.array(list(self._known), np.uint64)
        return LayoutConfigs(self.nodes, key_slots(keys), codes)


def setting_keys(slots: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Return one number for the eighteen slots of each node; raise ReadError on invalid slots."""
    digits = slots.astype(np.int8)
    if digits.size and (digits.min() < -1 or digits.max() >= BASE - 1):
        raise ReadError("a layout names a dimension beyond the sixth")
    if (digits != slots).any():
        raise ReadError("a layout has a dimension that is not a whole number")
    return np.asarray((digits + 1).astype(np.uint64) @ _POWERS)


def key_slots(keys: NDArray[np.uint64]) -> NDArray[np.int8]:
    """Return the eighteen slots of each number."""
    digits = keys[:, None] // _POWERS % np.uint64(BASE)
    return digits.astype(np.int8) - np.int8(1)


def order_number(order: Iterable[int]) -> int:
    """Return a minor-to-major order as a readable number: (4, 0) is 51, none is 0."""
    return int("".join(str(one + 1) for one in order if one >= 0) or "0")


def merge_rows(rows: Iterable[bytes]) -> tuple[NDArray[np.int32], list[int]]:
    """Return the index of each row among the distinct ones, and where each first occurred."""
    known: dict[bytes, int] = {}
    first: list[int] = []
    places = []
    for number, row in enumerate(rows):
        place = known.setdefault(row, len(known))
        if place == len(first):
            first.append(number)
        places.append(place)
    return np.array(places, np.int32), first


def tensor_numbers(configs: LayoutConfigs, columns: Ints | None = None) -> NDArray[np.int32]:
    """Return the order of each tensor of each node as a number that means the same in every file.

    ``columns`` selects tensors by ``3 * node + tensor``, with the node's position; all by default.
    """
    index, table = configs.tensor_orders
    numbers = np.array([order_number(order) for order in table.tolist()], np.int32)
    wanted = np.arange(3 * len(configs.nodes)) if columns is None else columns
    found = np.empty((len(configs), len(wanted)), np.int32)
    for place, column in enumerate(wanted.tolist()):
        found[:, place] = numbers[index[configs.codes[:, column // 3], column % 3]]
    return found


def distinct_tensors(configs: LayoutConfigs) -> Ints:
    """Return the tensors whose orders vary, one per group that always vary together."""
    index, _ = configs.tensor_orders
    known: dict[bytes, int] = {}
    for column in range(3 * len(configs.nodes)):
        orders = index[configs.codes[:, column // 3], column % 3]
        if (orders != orders[0]).any():
            pattern = np.unique(orders, return_inverse=True)[1].astype(np.uint16).tobytes()
            known.setdefault(pattern, column)
    return np.array(sorted(known.values()), np.int64)
