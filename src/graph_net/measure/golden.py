"""What a task asks to be done with the outputs of a graph, beside checking them against eager."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from graph_net.store.files import open_regular

ENVIRONMENT = "golden"
"""Where a record's environment holds what came of it."""
GOLDEN_FILE = "golden.safetensors"
"""What a worker calls the file in its work directory; whoever holds the workers moves it."""
CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class Golden:
    """A file that the outputs of a worker's first call go to, or are compared with."""

    path: str
    compare: bool = False


def hash_of(path: Path) -> str:
    """The hash of a file, a piece of it in memory at a time."""
    state = sha256()
    with open_regular(path) as file:
        while piece := file.read(CHUNK):
            state.update(piece)
    return state.hexdigest()
