"""One file for a bare machine: ``python BUNDLE.zip`` imports this package from the file itself."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

_MAIN = """\
import sys

sys.dont_write_bytecode = True
from {module} import main

sys.exit(main(sys.path[0]))
"""


def write_sources(
    bundle: zipfile.ZipFile, module: str, packages: Sequence[str], modules: Sequence[str]
) -> None:
    """Add sources, and an entry that calls ``main(path of the bundle)`` of ``module``."""
    source = Path(__file__).parents[1]
    bundle.writestr("__main__.py", _MAIN.format(module=module))
    for name in modules:
        bundle.write(source / name, f"graph_net/{name}")
    for package in packages:
        for file in sorted((source / package).rglob("*")):
            if file.suffix in (".py", ".txt"):
                bundle.write(file, f"graph_net/{file.relative_to(source)}")


def read_member(bundle: zipfile.ZipFile, name: str, most_bytes: int) -> bytes:
    """Return the bytes of a file in a bundle; raise, before unpacking, if there are too many."""
    size = bundle.getinfo(name).file_size  # no more than this is ever unpacked
    if size > most_bytes:
        raise ValueError(f"{name} in the bundle has {size:,} bytes; up to {most_bytes:,} are read")
    return bundle.read(name)
