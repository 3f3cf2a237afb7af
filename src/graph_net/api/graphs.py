"""Find a graph by its name, its directory or its file."""

from __future__ import annotations

import re
from pathlib import Path

from graph_net.corpus.config_graphs import open_config_graph
from graph_net.corpus.open_sample import open_sample
from graph_net.corpus.pack import NoGraph, Pack, PackError, is_pack
from graph_net.corpus.shipped import MINI, MINI_ALONE, corpus_at_hand
from graph_net.corpus.suggest import near_names
from graph_net.formats.graphnet import find_samples
from graph_net.graph import DEFAULT_LIMITS, Graph, from_bytes, from_json
from graph_net.printable import utf8_name
from graph_net.store.files import read_bytes, read_text


def load(path: str | Path) -> Graph:
    """Return a graph of the corpus by its name, of a pack (``PACK:NAME``), or of a file.

    A file is a graph's own ``.json`` or ``.bin``, TpuGraphs' ``.npz`` or ``.pb`` (``FILE:NAME`` for
    one of several), or a sample directory. Nothing is executed.
    """
    return open_graph(str(path))[1]


def read_sample(directory: str | Path) -> Graph:
    """Return the graph of a GraphNet sample directory; its source is parsed, never executed."""
    return open_sample(directory)


def open_graph(text: str) -> tuple[str, Graph]:
    """Return the name and the graph that ``PACK_OR_DIR[:NAME]`` stands for."""
    path, name = Path(text), ""
    if not path.exists():
        head, _, tail = text.rpartition(":")
        if not head or not Path(head).exists():
            return _from_corpus(text)
        path, name = Path(head), tail
    return open_graph_in(path, name)


def open_graph_in(path: Path, name: str) -> tuple[str, Graph]:
    """Return a graph of a pack or directory by name; a sample or a file is the graph itself."""
    if path.suffix in _FILES and not path.is_dir():
        return path.stem, _FILES[path.suffix](path)
    if path.suffix in _TPUGRAPHS and not path.is_dir():
        return open_config_graph(path, name)
    if (path / "model.py").is_file():
        return path.resolve().name, open_sample(path)
    if is_pack(path):
        return _from_pack(Pack(path), name)
    samples = {utf8_name(str(sample.relative_to(path))): sample for sample in find_samples(path)}
    if name in samples:
        return name, open_sample(samples[name])
    if not samples:
        raise PackError(f"{path} is neither a pack nor a sample directory, and holds no sample")
    if len(samples) == 1 and not name:
        ((name, sample),) = samples.items()
        return name, open_sample(sample)
    raise PackError(f"{path} holds {len(samples)} samples; name one: {_some(path, list(samples))}")


_FILES = {
    ".json": lambda path: from_json(read_text(path, DEFAULT_LIMITS.bytes)),
    ".bin": lambda path: from_bytes(read_bytes(path, DEFAULT_LIMITS.bytes)),
}
_TPUGRAPHS = (".npz", ".pb")


def _from_corpus(name: str) -> tuple[str, Graph]:
    """Return a graph of the corpus by name."""
    why = f"{name} does not exist: give a sample directory, PACK:NAME or a graph of the corpus"
    if Path(name).is_absolute():
        raise PackError(why)
    try:
        corpus = Pack(corpus_at_hand())
    except PackError as error:
        raise PackError(why) from error
    try:
        return name, corpus.graph(name)
    except NoGraph as error:
        near = ", ".join(near_names(name, corpus.names()))
        note = f"; {MINI_ALONE}" if corpus.path == MINI else ""
        raise PackError(f"{why}{', such as ' if near else ''}{near}{note}") from error


def _from_pack(pack: Pack, name: str) -> tuple[str, Graph]:
    if not name:
        names = pack.names()
        if len(names) != 1:
            raise PackError(
                f"{pack.path} holds {len(names)} graphs; name one: {_some(pack.path, names)}"
            )
        name = names[0]
    return name, pack.graph(name)


def _some(path: Path, names: list[str]) -> str:
    more = " …" if len(names) > 3 else ""
    return ", ".join(f"{path}:{name}" for name in names[:3]) + more


def safe_path(name: str) -> Path:
    """Return a graph's name as a relative path that stays inside its parent."""
    parts = [re.sub(r"[^\w.+=@-]", "_", part) for part in name.split("/")]
    return Path(*[part for part in parts if part.strip(".")] or ["graph"])
