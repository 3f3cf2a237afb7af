"""The layouts of one graph to learn from or to rank: hand features, calls, and measured labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graph_net.configs.layouts.call_features import COLUMNS, WORK, Floats
from graph_net.configs.layouts.hand_features import COLUMNS as HAND
from graph_net.configs.layouts.hand_features import feature_row, moved_bytes

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CallCounts:
    """How often each layout makes each call, less how often the original does."""

    rows: Floats
    """A row for each call: its features, then its bytes and operations."""
    layout: Ints
    call: Ints
    count: Floats
    """A number for each pair of a layout and a call that is not 0."""

    @property
    def features(self) -> Floats:
        """The features of each call."""
        return self.rows[:, : len(COLUMNS)]

    @property
    def moved(self) -> Floats:
        """The bytes of each call."""
        return self.rows[:, len(COLUMNS)]

    @property
    def operations(self) -> Floats:
        """The operations of each call."""
        return self.rows[:, len(COLUMNS) + 1]


NO_CALLS = CallCounts(
    np.zeros((0, len(COLUMNS) + len(WORK))), np.zeros(0, np.int64), np.zeros(0, np.int64),
    np.zeros(0),
)  # fmt: skip


@dataclass(frozen=True)
class GraphLayouts:
    """Layouts of one graph: what is known of each before it runs, and its label if it was run."""

    hand: Floats
    moved: Floats
    """Bytes of all copies of each layout."""
    seconds: Floats
    """Measured time of the original in the same rounds."""
    calls: CallCounts = NO_CALLS
    device: str = "cuda"
    """Kind of the device."""
    labels: Floats = field(default_factory=lambda: np.zeros(0))
    """Log of the time of each layout over the original's."""
    graph: str = ""
    name: str = ""
    schedules: tuple[str, ...] = ()
    again: tuple[tuple[str, float], ...] = ()
    """Second measurements: layout and label."""

    def __len__(self) -> int:
        return len(self.hand)


def count_calls(
    rows: Floats, original: Sequence[int], layouts: Sequence[Sequence[int]]
) -> CallCounts:
    """Return the counts of calls, given by their numbers among ``rows``."""
    usual = np.bincount(np.array(original, np.int64), minlength=len(rows))
    places: list[Ints] = []
    counts: list[Ints] = []
    for numbers in layouts:
        less = np.bincount(np.array(numbers, np.int64), minlength=len(rows)) - usual
        places.append(np.flatnonzero(less))
        counts.append(less[places[-1]])
    if not places:
        return NO_CALLS
    layout = np.repeat(np.arange(len(places)), [len(one) for one in places])
    return CallCounts(
        rows, layout, np.concatenate(places), np.concatenate(counts).astype(np.float64)
    )


def merge_rows(original: Floats, layouts: Sequence[Floats]) -> CallCounts:
    """Return the counts of calls, given by their rows."""
    numbered: dict[bytes, int] = {}
    kept: list[Floats] = []

    def numbers(rows: Floats) -> list[int]:
        chosen = []
        for row in rows:
            key = row.tobytes()
            if key not in numbered:
                numbered[key] = len(kept)
                kept.append(row)
            chosen.append(numbered[key])
        return chosen

    first, others = numbers(original), [numbers(rows) for rows in layouts]
    return count_calls(np.array(kept).reshape(-1, len(COLUMNS) + len(WORK)), first, others)


def candidate_layouts(
    schedules: Sequence[str],
    kinds: str,
    copies: Sequence[Mapping[str, Sequence[int]]],
    seconds: float,
    device: str = "cpu",
    original: bytes = b"",
    calls: Sequence[bytes] = (),
) -> GraphLayouts:
    """Return layouts to rank, from the answers of rewriting processes.

    ``original`` and ``calls`` are the bytes of rows of calls, and may be missing.
    """
    pairs = zip(schedules, copies, strict=True)
    hand = [feature_row(one, kinds, counted, seconds) for one, counted in pairs]
    counts = merge_rows(_rows(original), [_rows(data) for data in calls]) if original else NO_CALLS
    return GraphLayouts(
        np.array(hand).reshape(len(hand), len(HAND)),
        np.array([moved_bytes(counted) for counted in copies]),
        np.full(len(hand), seconds),
        counts,
        device.partition(":")[0],
        schedules=tuple(schedules),
    )


def _rows(data: bytes) -> Floats:
    return np.frombuffer(data, np.float64).reshape(-1, len(COLUMNS) + len(WORK))
