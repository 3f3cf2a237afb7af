"""Where peaks and work are kept: one file a device for the user, one file beside the records.

The file beside the records travels with them, so a report can be made on another machine.
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
from graph_net.store.files import read_bytes

FILE = "roofline.json"
LARGEST = 256 << 20


@dataclass(frozen=True)
class Rooflines:
    """Peaks by device identity, and the work of graphs by their id."""

    peaks: Mapping[str, Peaks] = field(default_factory=dict)
    work: Mapping[str, Work] = field(default_factory=dict)


def cache_directory() -> Path:
    """Where this user's peaks are kept."""
    named = os.environ.get("XDG_CACHE_HOME")
    base = Path(named) if named else Path.home() / ".cache"
    return base / "graph-net" / "roofline"


def cached_peaks(identity: str) -> Peaks | None:
    """The peaks that were measured before; None where none were, or the file is no such file."""
    try:
        data = read_bytes(cache_directory() / f"{identity}.json", LARGEST)
        return read_as(Peaks, data, "roofline")
    except (OSError, ValueError):
        return None


def keep_peaks(peaks: Peaks) -> None:
    """Keep peaks for this user."""
    _write(cache_directory() / f"{peaks.device}.json", asdict(peaks))


def read_rooflines(records: Path) -> Rooflines:
    """What is kept beside records; empty where nothing is."""
    path = records / FILE
    if not path.exists():
        return Rooflines()
    if path.stat().st_size > LARGEST:
        raise RecordError(f"{path} is larger than what is read here")
    try:
        return read_as(Rooflines, read_bytes(path), "roofline")
    except RecordError as error:
        raise RecordError(
            f"{path} is damaged ({error}); `graph-net roofline {records} --again` makes it anew"
        ) from error


def write_rooflines(records: Path, found: Rooflines) -> None:
    """Keep peaks and work beside records."""
    _write(records / FILE, asdict(found))


def _write(path: Path, tree: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(json.loads(canonical(tree)), indent=1))
