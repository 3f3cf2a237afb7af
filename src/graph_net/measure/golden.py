"""Golden: a file in which a task's outputs are stored, or with which they are compared."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from graph_net.store.files import open_regular

ENVIRONMENT = "golden"
"""The key of the result in a record's environment."""
GOLDEN_FILE = "golden.safetensors"
"""The file in the work directory of a worker; the process that holds the workers moves it."""


@dataclass(frozen=True, slots=True)
class Golden:
    """A file that the outputs of a worker's first call go to, or are compared with."""

    path: str
    compare: bool = False


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open_regular(path) as file:
        return file_digest(file, "sha256").hexdigest()
