"""TimedCall: Inductor's measurements of one operation, a line of a journal."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from graph_net.results import RecordError, read_as
from graph_net.search.inductor.template_call import TemplateCall
from graph_net.search.inductor.tile import Tile
from graph_net.store.journal import whole_lines

LONGEST_LINE = 4 << 20
TRITON, ATEN, OTHER = "triton", "aten", "other"


@dataclass(frozen=True)
class TimedChoice:
    """A kernel that Inductor could choose; without ``milliseconds`` it failed to run."""

    kind: str
    """``triton`` for a template with a tile, ``aten`` for a library kernel, else ``other``."""
    name: str
    milliseconds: float | None
    tile: Tile | None = None
    default: bool = True
    """Whether Inductor tries it by default; others were drawn from its exhaustive space."""
    compiled: float | None = None
    """Seconds of compiling."""
    by_host: bool = False
    """Whether the time may include the host, because queueing failed; not used for training."""

    def __post_init__(self) -> None:
        if self.kind not in (TRITON, ATEN, OTHER):
            raise ValueError(f"a choice is {TRITON}, {ATEN} or {OTHER}, not {self.kind!r}")
        if (self.tile is None) != (self.kind != TRITON):
            raise ValueError("Triton templates have a tile, and nothing else has one")
        if self.milliseconds is not None and not 0 < self.milliseconds < math.inf:
            raise ValueError(f"{self.milliseconds} milliseconds is not a time")


@dataclass(frozen=True)
class TimedCall:
    """An operation, and every choice with its time, on one device."""

    call: TemplateCall
    choices: tuple[TimedChoice, ...]
    gpu: str
    software: Mapping[str, str] = field(default_factory=dict)
    case: str = ""
    """Key of the case it was measured for, if any."""


def timed_to_json(timed: TimedCall) -> str:
    """Return one line."""
    return json.dumps(asdict(timed), separators=(",", ":"))


def read_timed(path: Path) -> Iterator[TimedCall]:
    """Yield the operations of a journal; other lines are skipped."""
    for line in whole_lines(path, LONGEST_LINE):
        try:
            yield read_as(TimedCall, line, "timed operation of Inductor")
        except RecordError:
            if b'"choices"' in line:
                raise
