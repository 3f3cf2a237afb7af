"""Read GraphNet's sample directories into a pack, and write them back."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from graph_net.api.graphs import safe_path
from graph_net.configs.files import ConfigFile, find_files
from graph_net.corpus.config_graphs import config_rows
from graph_net.corpus.import_samples import ImportCounts, read_directories
from graph_net.corpus.pack import Pack, PackError, PackWriter
from graph_net.corpus.query import select
from graph_net.display.display import Display, display_of
from graph_net.formats.graphnet import find_samples
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import GraphError

_UNUSABLE_NAME = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST}
"""The error numbers of a name that cannot be a directory, or not beside the others."""


def import_samples(
    directories: Sequence[Path], output: Path, jobs: int = 0, progress: Display | bool = True
) -> ImportCounts:
    """Read samples, or TpuGraphs' files, into a pack; those that it has are not read again."""
    files = find_files([path for path in directories if path.exists()])
    if files:
        return _import_config_files(files, output, progress)
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


def _import_config_files(
    files: Sequence[ConfigFile], output: Path, progress: Display | bool
) -> ImportCounts:
    outcome = ImportCounts()
    with (
        PackWriter(output) as writer,
        display_of(progress).progress("reading", len(files)) as advance,
    ):
        for file in files:
            outcome.sample_bytes += file.path.stat().st_size
            for result in config_rows(file, writer.names):
                if result.row is not None:
                    writer.add_row(result.row)
                    outcome.read += 1
                elif result.reason:
                    outcome.refuse(result.name, result.reason)
                else:
                    outcome.skipped += 1
            advance()
    outcome.pack_bytes = sum(part.stat().st_size for part in output.glob("part-*"))
    return outcome


def _named_samples(directories: Sequence[Path]) -> dict[str, Path]:
    samples: dict[str, Path] = {}
    for directory in directories:
        if not directory.is_dir():
            raise PackError(f"{directory} is not a directory")
        for sample in find_samples(directory):
            inside = str(sample.relative_to(directory))
            name = directory.resolve().name if inside == "." else inside
            if name in samples:
                name = f"{directory.name}/{name}"
            if name in samples:
                raise PackError(f"two samples are called {name!r}: {samples[name]} and {sample}")
            samples[name] = sample
    if not samples:
        searched = ", ".join(map(str, directories))
        raise PackError(f"no sample (a directory with a model.py) in {searched}")
    return samples


def export_samples(
    pack: Path,
    output: Path,
    where: str | None = None,
    device: str = "cpu",
    progress: Display | bool = True,
) -> tuple[int, int]:
    """Write graphs of a pack as sample directories; return how many were written and refused."""
    opened, display = Pack(pack), display_of(progress)
    names = [row["name"] for row in select(opened, where)]
    _check_paths(names)
    refused = 0
    with display.progress("writing", len(names)) as advance:
        for name, graph in opened.graphs(names):
            try:
                write_sample(graph, output / safe_path(name), device)
            except (GraphError, OSError) as error:
                if isinstance(error, OSError) and error.errno not in _UNUSABLE_NAME:
                    raise
                display.tell(f"{name} is not written: {error}")
                refused += 1
            advance()
    return len(names) - refused, refused


def _check_paths(names: Sequence[str]) -> None:
    """Raise PackError if two graphs would be written to one directory."""
    paths: dict[Path, str] = {}
    for name in names:
        other = paths.setdefault(safe_path(name), name)
        if other != name:
            raise PackError(f"{other!r} and {name!r} would be written to the same directory")
