"""Check graphs by the requirements of GraphNet's paper."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.choose import Graphs, named_graphs
from graph_net.api.corpus import Corpus, corpus
from graph_net.corpus.open_sample import open_confined
from graph_net.corpus.pack import Pack, PackError, is_pack
from graph_net.display.display import Display, display_of
from graph_net.formats.graphnet import find_samples
from graph_net.graph import Graph, from_bytes, to_bytes
from graph_net.printable import utf8_name

if TYPE_CHECKING:
    from graph_net.capture.zoo.zoo import Zoo
    from graph_net.cluster.connection import Cluster
    from graph_net.validate.pool import ValidationItem
    from graph_net.validate.report import ValidationReport


@dataclass(frozen=True)
class Candidates:
    """Graphs to validate: the library of each, and tasks for those not yet validated.

    ``structures`` are those of a pack; samples have none before they are read.
    """

    libraries: Mapping[str, str]
    tasks: Callable[[Collection[str]], Iterator[ValidationItem]]
    structures: Mapping[str, str] = field(default_factory=dict)


def validate(
    graphs: Graphs | Candidates = None,
    *,
    where: str | None = None,
    names: Collection[str] | None = None,
    limit: int | None = None,
    jobs: int = 0,
    seconds: int = 120,
    gigabytes: float = 8.0,
    real_bytes: int = 200_000_000,
    real_flops: int = 20_000_000_000,
    against_models: bool = False,
    keep: str | Path | None = None,
    cluster: Cluster | str | None = None,
    progress: Display | bool = True,
) -> list[ValidationReport]:
    """Check the five requirements of GraphNet's paper and return a verdict per graph, by name.

    Each graph is run in a confined process of its own: on fake tensors, and on values if its
    tensors and its cost are within ``real_bytes`` and ``real_flops``. ``against_models`` builds
    each model again and compares. ``keep`` names a file of verdicts that a second call resumes.
    With a ``cluster`` that happens on its nodes; samples must be there under the same path.
    """
    chosen = graphs if isinstance(graphs, Candidates) else candidates(graphs, where, names, limit)
    if keep is not None and not chosen.structures:
        raise PackError("--keep needs the structures that a pack lists; samples have none")
    from graph_net.cluster.connection import pools
    from graph_net.isolate import Limits
    from graph_net.validate.checks import ValidationLimits
    from graph_net.validate.pool import validate_all
    from graph_net.validate.report import mark_redundant
    from graph_net.validate.report_file import VerdictFile

    file = None if keep is None else VerdictFile(Path(keep))
    stored = [] if file is None else file.verdicts(dict(chosen.structures))
    verdicts = [verdict for verdict in stored if verdict.ok]  # failures are tried again
    done = {verdict.name for verdict in verdicts}
    bar = display_of(progress).progress("validate", len(chosen.libraries) - len(done))
    with pools(cluster, jobs) as (make_pool, several), bar as advance, file or nullcontext():
        for verdict in validate_all(
            chosen.tasks(done),
            several,
            Limits.of(seconds, gigabytes),
            ValidationLimits(real_bytes, real_flops),
            _zoos(set(chosen.libraries.values())) if against_models else None,
            make_pool,
        ):
            verdicts.append(verdict)
            if file is not None:
                file.add(verdict)
            advance(not verdict.ok)
    return mark_redundant(verdicts)


def candidates(
    graphs: Graphs = None,
    where: str | None = None,
    names: Collection[str] | None = None,
    limit: int | None = None,
) -> Candidates:
    """Return graphs in memory, of a pack or of samples as candidates."""
    if isinstance(graphs, Graph | list | tuple):
        return _in_memory(named_graphs(graphs))
    if isinstance(graphs, Mapping) and not isinstance(graphs, Corpus):
        return _in_memory(graphs)
    chosen = graphs if isinstance(graphs, Corpus) else corpus(graphs)  # type: ignore[arg-type]
    if chosen.path is not None and not is_pack(chosen.path):
        return _of_samples(chosen.path, where, names, limit)
    chosen = chosen.where(where) if where else chosen
    rows = sorted(chosen.rows, key=lambda row: str(row["name"]))
    rows = [row for row in rows if names is None or row["name"] in names][:limit]
    libraries = {row["name"]: row["library"] or "" for row in rows}
    return Candidates(
        libraries,
        lambda done: _from_pack(chosen.pack, [name for name in libraries if name not in done]),
        {row["name"]: row["structure"] for row in rows},
    )


def _in_memory(graphs: Mapping[str, Graph]) -> Candidates:
    from graph_net.validate.pool import ValidationItem

    def tasks(done: Collection[str]) -> Iterator[ValidationItem]:
        for name, graph in graphs.items():
            if name not in done:
                yield ValidationItem(name, partial(from_bytes, to_bytes(graph)))

    libraries = {name: graph.provenance.library for name, graph in graphs.items()}
    return Candidates(libraries, tasks, {name: graph.structure for name, graph in graphs.items()})


def _of_samples(
    source: Path, where: str | None, names: Collection[str] | None, limit: int | None
) -> Candidates:
    if where is not None:
        raise PackError(f"{source} is not a pack, which --where needs")
    samples = {utf8_name(str(path.relative_to(source))): path for path in find_samples(source)}
    if names is not None:
        samples = {name: path for name, path in samples.items() if name in names}
    samples = dict(list(samples.items())[:limit])
    if not samples:
        raise PackError(f"{source} is neither a pack nor a sample directory, and holds no sample")
    return Candidates(dict.fromkeys(samples, ""), lambda _: _from_samples(samples))


def _from_pack(pack: Pack, names: list[str]) -> Iterator[ValidationItem]:
    from graph_net.validate.pool import ValidationItem

    # A graph is decoded in the process that may die of it.
    for name, data in pack.blobs(names):
        yield ValidationItem(name, partial(from_bytes, data, pack.limits))


def _from_samples(samples: dict[str, Path]) -> Iterator[ValidationItem]:
    from graph_net.validate.pool import ValidationItem

    for name, path in samples.items():
        yield ValidationItem(name, partial(open_confined, path), path)


def _zoos(libraries: set[str]) -> Callable[[str], Zoo]:
    from graph_net.capture.zoo import load

    zoos = {library: load(library) for library in sorted(libraries)}
    for zoo in zoos.values():
        next(iter(zoo.entries()), None)  # import its library here, not in each process
    return zoos.__getitem__
