"""A directory elsewhere as a local one: given by a path, or by an address that pyarrow reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from graph_net.printable import first_line
from graph_net.results import RecordError

MOST_BYTES = 256 << 30
"""The most bytes to fetch from one source; no collection of records has had as many."""
BLOCK = 8 << 20
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.ASCII | re.IGNORECASE)


def is_address(source: str) -> bool:
    """Return whether a source is an address (``s3://bucket/records``) rather than a path."""
    return _ADDRESS.match(source) is not None


@contextmanager
def fetched(source: str, patterns: Sequence[str]) -> Iterator[Path]:
    """Yield the directory itself, or for an address a local copy of the files that match.

    Raise RecordError if it does not exist or cannot be read.
    """
    if not is_address(source):
        if not Path(source).is_dir():
            raise RecordError(f"{source} does not exist, or is not a directory")
        yield Path(source)
        return
    with TemporaryDirectory(prefix="graph-net-sync-") as folder:
        _copy_files(source, patterns, Path(folder))
        yield Path(folder)


def _copy_files(source: str, patterns: Sequence[str], folder: Path) -> None:
    import pyarrow as pa
    from pyarrow import fs

    left = MOST_BYTES
    try:
        system, path = fs.FileSystem.from_uri(source)
        for file in system.get_file_info(fs.FileSelector(path)):
            name = PurePosixPath(file.path).name
            if file.is_file and any(fnmatchcase(name, pattern) for pattern in patterns):
                left = _copy_file(system, file.path, folder / name, left)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise RecordError(f"{source} cannot be read: {first_line(error)}") from error


def _copy_file(system: Any, path: str, target: Path, most: int) -> int:
    """Copy a file, whatever size it states; return how many of ``most`` bytes are left."""
    with system.open_input_stream(path) as stream, target.open("xb") as file:
        while block := stream.read(BLOCK):
            most -= len(block)
            if most < 0:
                raise ValueError(f"it has more than the limit of {MOST_BYTES >> 30} GiB")
            file.write(block)
    return most
