"""Stored peaks and work: one file per device for the user, one file beside the records.

The file beside the records travels with them, so another machine can make a report.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from graph_net.graph.work import Work
from graph_net.results import Json, RecordError, canonical, read_as
from graph_net.results.peaks import Peaks
from graph_net.store.atomic import write_text
from graph_net.store.files import TooLarge, read_bytes

FILE = "roofline.json"
LARGEST = 256 << 20


@dataclass(frozen=True)
class Rooflines:
    """Peaks by device identity, and the work of graphs by their id."""

    peaks: Mapping[str, Peaks] = field(default_factory=dict)
    work: Mapping[str, Work] = field(default_factory=dict)


def cache_directory() -> Path:
    """Return the directory of this user's peaks."""
    cache = os.environ.get("XDG_CACHE_HOME")
    base = Path(cache) if cache else Path.home() / ".cache"
    return base / "graph-net" / "roofline"


def read_cached_peaks(identity: str) -> Peaks | None:
    """Return the peaks that were measured before; None without a readable file."""
    try:
        data = read_bytes(cache_directory() / f"{identity}.json", LARGEST)
        return read_as(Peaks, data, "roofline")
    except (OSError, ValueError):
        return None


def cache_peaks(peaks: Peaks) -> None:
    """Store peaks for this user."""
    _write(cache_directory() / f"{peaks.device}.json", asdict(peaks))


def read_rooflines(records: Path) -> Rooflines:
    """Return the peaks and work beside records; empty without a file."""
    path = records / FILE
    if not path.exists():
        return Rooflines()
    try:
        return read_as(Rooflines, read_bytes(path, LARGEST), "roofline")
    except (RecordError, TooLarge) as error:
        raise RecordError(
            f"{path} is damaged ({error}); make it anew with `graph-net roofline {records} --again`"
        ) from error


def write_rooflines(records: Path, rooflines: Rooflines) -> None:
    """Store peaks and work beside records."""
    _write(records / FILE, asdict(rooflines))


def _write(path: Path, tree: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(json.loads(canonical(tree)), indent=1))
