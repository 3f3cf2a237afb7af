"""Graphs by content on a node: fetched once, stored under their hash, verified when read."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from graph_net.store.atomic import write_bytes
from graph_net.store.files import read_bytes


def content_hash(data: bytes) -> str:
    """Return the name of these bytes."""
    return sha256(data).hexdigest()


def node_folder() -> Path:
    """Return the directory where this user's nodes store fetched bytes."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "graph-net" / "node"


class ContentCache:
    """A directory of files named by a hash of their content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fetched = 0
        """Number of misses."""

    def get(self, name: str, fetch: Callable[[], bytes]) -> bytes:
        """Return the bytes of this name, fetching and storing them on a miss."""
        path = self.folder / name[:2] / name
        with suppress(OSError):
            data = read_bytes(path)
            if content_hash(data) == name:
                return data
        self.fetched += 1
        data = fetch()
        if content_hash(data) != name:
            raise ValueError(f"the bytes of {name[:12]} are others than announced")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data, durable=False)
        return data
