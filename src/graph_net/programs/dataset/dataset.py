"""A data set of programs: one store per platform, and its files."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from graph_net.programs.features.feature_kinds import MACHINE_CODE
from graph_net.programs.formats import ReadError
from graph_net.store.files import read_bytes

PATTERNS = {
    **{name: f"{name}-*.parquet" for name in ("programs", "tasks", "workloads")},
    "subgraphs": "subgraphs/part-*.parquet",
    "code": f"{MACHINE_CODE.prefix}*.parquet",
}
"""The files of each table of a platform; subgraphs, if a space has any, are a pack."""


def platforms(folder: Path) -> dict[str, Path]:
    """Return the stores of a data set, by platform name."""
    found = {
        path.name: path
        for path in sorted(folder.iterdir() if folder.is_dir() else ())
        if any(path.glob(PATTERNS["programs"]))
    }
    if not found:
        raise ReadError(
            f"{folder} has no directory with programs in it: a data set is one for each platform"
        )
    return found


def files(path: Path) -> dict[str, list[Path]]:
    """Return the files of each table that a platform has."""
    found = {table: sorted(path.glob(pattern)) for table, pattern in PATTERNS.items()}
    return {table: parts for table, parts in found.items() if parts}


def digest(file: Path) -> str:
    """Return the digest of a file's bytes, as the metadata gives it."""
    return sha256(read_bytes(file)).hexdigest()
