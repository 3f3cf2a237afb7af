"""TpuGraphs' files on disk: their names, collections and splits, and their graphs.

A name is the path below ``npz/``: ``layout/xla/default/train/unet3d``. Folders give the collection
and the split; a file elsewhere has neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graph_net.configs.config_graph import ConfigGraph
from graph_net.configs.read_npz import LIMITS, read_npz
from graph_net.configs.read_pb import read_pb
from graph_net.formats.tpugraphs.npz import open_npz
from graph_net.store.files import open_regular
from graph_net.store.lines import ZIP, ReadError

SEARCHES = ("default", "random")
"""How layouts were drawn: by a genetic search from the compiler's own choice, or at random."""
SPLITS = ("train", "valid", "test")
SUFFIXES = (".npz", ".pb")


@dataclass(frozen=True)
class ConfigFile:
    """A file, with its collection and split from its folders."""

    path: Path
    collection: str = ""
    split: str = ""

    @property
    def name(self) -> str:
        """The path below the data set's root, without the suffix."""
        folders = [*self.collection.split(":"), self.split] if self.collection else []
        return "/".join([*folders, self.path.stem])


def config_file(path: Path) -> ConfigFile:
    """Return a file with what its folders say: layout/SOURCE/SEARCH/SPLIT, or tile/SOURCE/SPLIT.

    TpuGraphs' sources are ``xla`` and ``nlp``; layouts measured here are named after their device.
    """
    match path.resolve().parts[-5:-1]:
        case (*_, "layout", source, search, split) if search in SEARCHES and split in SPLITS:
            return ConfigFile(path, f"layout:{source}:{search}", split)
        case (*_, "tile", source, split) if split in SPLITS:
            return ConfigFile(path, f"tile:{source}", split)
        case _:
            return ConfigFile(path)


def find_files(paths: Sequence[Path], collection: str = "", split: str = "") -> list[ConfigFile]:
    """Return the TpuGraphs files among files and folders, sorted; optionally of one collection."""
    found: dict[Path, ConfigFile] = {}
    for path in paths:
        inside = (
            sorted(p for s in SUFFIXES for p in path.rglob(f"*{s}")) if path.is_dir() else [path]
        )
        for one in inside:
            file = config_file(one)
            if file.collection.startswith(collection) and split in ("", file.split):
                found[one] = file
    return list(found.values())


def read_graphs(file: ConfigFile | Path) -> Iterator[ConfigGraph]:
    """Yield the graphs of a file: one from an npz, several from a protobuf of kernels."""
    file = config_file(file) if isinstance(file, Path) else file
    if _starts_as_zip(file.path):
        yield read_npz(file.path, file.name, file.collection, file.split)
        return
    for graph in read_pb(file.path):
        yield replace(graph, split=file.split)


def stream_graphs(files: Sequence[ConfigFile]) -> Iterator[ConfigGraph]:
    """Yield the graphs of many files, with one in memory at a time."""
    for file in files:
        yield from read_graphs(file)


def is_tpugraphs(path: Path) -> bool:
    """Return whether a file's bytes are TpuGraphs': an npz with its arrays, or a protobuf."""
    if _starts_as_zip(path):
        try:
            with open_npz(path, LIMITS) as npz:
                return {"node_opcode", "edge_index", "config_runtime"} <= npz.names
        except ReadError:
            return False
    return path.suffix == ".pb" and _starts_as_message(path)


def _starts_as_zip(path: Path) -> bool:
    with open_regular(path) as file:
        return file.read(4) == ZIP


def _starts_as_message(path: Path) -> bool:
    """Return whether the first byte is that of field 1 holding a message."""
    with open_regular(path) as file:
        return file.read(1) == b"\x0a"
