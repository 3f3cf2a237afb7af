"""The subjects of measurements, from a pack or samples, with the bytes of their graphs."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from graph_net.corpus.pack import Pack, PackError
from graph_net.graph import Graph, GraphError
from graph_net.printable import utf8_name
from graph_net.results import Subject

CHUNK = 32
_COLUMNS = ["id", "structure", "name", "library", "model", "category", "subcategory"]


def stratify(rows: Sequence[dict[str, Any]], seed: int = 0) -> list[str]:
    """Return the names in an order of which every prefix is a stratified sample by category."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: str(row["name"])):
        groups[row["category"] or ""].append(row["name"])
    order = random.Random(seed)  # noqa: S311 - an order, not a secret
    for names in groups.values():
        order.shuffle(names)
    longest = max((len(names) for names in groups.values()), default=0)
    # A category with half as many graphs has its turn half as often.
    ranked = [
        ((position + 0.5) * longest / len(names), group, name)
        for group, names in sorted(groups.items())
        for position, name in enumerate(names)
    ]
    return [name for _, _, name in sorted(ranked)]


def read_subjects(pack: Pack, names: Sequence[str]) -> Iterator[tuple[Subject, bytes]]:
    """Yield the subjects of these names, in order, with the bytes of their graphs."""
    for start in range(0, len(names), CHUNK):
        chunk = names[start : start + CHUNK]
        rows = pack.rows_of(chunk, [*_COLUMNS, "graph"])
        for name in chunk:
            row = rows[name]
            yield Subject(**{column: row[column] or "" for column in _COLUMNS}), row["graph"]


def read_samples(
    path: Path, limit: int | None
) -> tuple[list[str], Iterator[tuple[Subject, bytes]]]:
    """Return the names of the GraphNet samples under a path, and their subjects, read lazily."""
    from graph_net.formats.graphnet import find_samples

    samples = [path] if (path / "model.py").is_file() else list(find_samples(path))
    if not samples:
        raise PackError(f"{path} is neither a pack nor a sample directory, and holds no sample")
    samples = samples[:limit]
    return [_sample_name(path, sample) for sample in samples], _read_subjects(path, samples)


def _sample_name(path: Path, sample: Path) -> str:
    return utf8_name(sample.resolve().name if sample == path else str(sample.relative_to(path)))


def _read_subjects(path: Path, samples: Sequence[Path]) -> Iterator[tuple[Subject, bytes]]:
    from graph_net.corpus.open_sample import open_sample
    from graph_net.graph import to_bytes

    for sample in samples:
        name = _sample_name(path, sample)
        try:
            graph = open_sample(sample)
        except (GraphError, OSError):
            yield Subject(name, "", name), b""  # a worker will fail to load it, and record why
            continue
        yield subject_of(name, graph), to_bytes(graph)


def subject_of(name: str, graph: Graph) -> Subject:
    """Return the subject of a graph."""
    origin = graph.provenance
    return Subject(
        *(graph.id, graph.structure, name),
        *(origin.library, origin.model, origin.category, origin.subcategory),
    )
