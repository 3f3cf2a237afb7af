"""GraphNet's sample directories into a pack, and back."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from graph_net.api.graphs import safe_path
from graph_net.corpus.import_samples import ImportCounts, read_directories
from graph_net.corpus.pack import Pack, PackError, PackWriter
from graph_net.corpus.query import select
from graph_net.display.display import Display, display_of
from graph_net.formats.graphnet import find_samples
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import GraphError

_NO_SUCH_PLACE = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST}
"""What a name is answered with that no directory can have, or not beside the others."""


def import_samples(
    directories: Sequence[Path], output: Path, jobs: int = 0, progress: Display | bool = True
) -> ImportCounts:
    """Read samples into a pack; those that it has are passed over."""
    samples = _named_samples(directories)
    outcome = ImportCounts()
    with PackWriter(output) as writer:
        wanted = {name: path for name, path in samples.items() if name not in writer.names}
        outcome.skipped = len(samples) - len(wanted)
        with display_of(progress).progress("reading", len(wanted)) as advance:
            for result in read_directories(wanted, jobs or os.cpu_count() or 1):
                if result.row is not None:
                    writer.add_row(result.row)
                    outcome.read += 1
                    outcome.sample_bytes += result.sample_bytes
                else:
                    outcome.refuse(result.name, result.reason)
                advance()
    outcome.pack_bytes = sum(part.stat().st_size for part in output.glob("part-*"))
    return outcome


def _named_samples(directories: Sequence[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for directory in directories:
        if not directory.is_dir():
            raise PackError(f"{directory} is no directory")
        for sample in find_samples(directory):
            inside = str(sample.relative_to(directory))
            name = directory.resolve().name if inside == "." else inside
            if name in found:
                name = f"{directory.name}/{name}"
            if name in found:
                raise PackError(f"two samples are called {name!r}: {found[name]} and {sample}")
            found[name] = sample
    if not found:
        places = ", ".join(str(directory) for directory in directories)
        raise PackError(f"no sample (a directory with a model.py) in {places}")
    return found


def export_samples(
    pack: Path,
    output: Path,
    where: str | None = None,
    device: str = "cpu",
    progress: Display | bool = True,
) -> tuple[int, int]:
    """Write graphs of a pack as sample directories; how many were written, and how many not."""
    opened, display = Pack(pack), display_of(progress)
    names = [row["name"] for row in select(opened, where)]
    _check_places(names)
    refused = 0
    with display.progress("writing", len(names)) as advance:
        for name, graph in opened.graphs(names):
            try:
                write_sample(graph, output / safe_path(name), device)
            except (GraphError, OSError) as error:
                if isinstance(error, OSError) and error.errno not in _NO_SUCH_PLACE:
                    raise
                display.tell(f"{name} is passed over: {error}")
                refused += 1
            advance()
    return len(names) - refused, refused


def _check_places(names: Sequence[str]) -> None:
    """Raise where two graphs would be written to one directory."""
    places: dict[Path, str] = {}
    for name in names:
        other = places.setdefault(safe_path(name), name)
        if other != name:
            raise PackError(f"{other!r} and {name!r} would be written to the same directory")
