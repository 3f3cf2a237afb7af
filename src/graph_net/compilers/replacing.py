"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


class replacing:
    """A path to write to that takes the final name only when all went well.

    A worker that is killed half-way leaves no file that the next one would trust.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.aside = path.with_name(f".{os.getpid()}.{path.name}")

    def __enter__(self) -> Path:
        return self.aside

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.aside.replace(self.path)
        else:
            self.aside.unlink(missing_ok=True)
