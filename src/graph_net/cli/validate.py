"""``graph-net validate``: whether graphs are what GraphNet's paper asks of a sample."""

from __future__ import annotations

import json as jsonlib
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.cli.list import WHERE_HELP
from graph_net.cli.verdicts import failure_table, summary, verdict_table
from graph_net.corpus.open_sample import open_confined
from graph_net.corpus.pack import Pack, PackError, is_pack
from graph_net.corpus.query import select
from graph_net.corpus.shipped import shipped_corpus
from graph_net.display.progress import progress
from graph_net.files import read_text
from graph_net.formats.graphnet import find_samples
from graph_net.graph import from_bytes
from graph_net.printable import utf8_name

if TYPE_CHECKING:
    from graph_net.capture.zoo.zoo import Zoo
    from graph_net.validate.pool import Task


def validate_graphs(
    source: Annotated[
        Path | None,
        typer.Argument(help="A pack, or samples; the shipped corpus if none is named."),
    ] = None,
    where: Annotated[str | None, typer.Option(help=WHERE_HELP)] = None,
    names: Annotated[
        Path | None, typer.Option(help="A file with the names of graphs, one a line.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many graphs.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes; 0 for one a core.")] = 0,
    seconds: Annotated[int, typer.Option(help="Time limit for one graph.")] = 120,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one graph.")] = 8.0,
    real_bytes: Annotated[
        int, typer.Option(help="Run on values where the tensors take at most so many bytes.")
    ] = 200_000_000,
    real_flops: Annotated[
        int, typer.Option(help="Run on values where that costs at most so many operations.")
    ] = 20_000_000_000,
    against_models: Annotated[
        bool, typer.Option(help="Build each model again and compare its outputs too.")
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep verdicts here as they come; the same command goes on from them."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print every verdict as JSON.")] = False,
) -> None:
    """Check graphs by the five requirements of GraphNet's paper (`verify` checks a machine).

    Each graph is run in a process of its own, on fake tensors, and on values where it is small
    enough; it is captured again from what is stored and cut into pieces, and both must give the
    same outputs. Exit code 1 if a graph fails.
    """
    found = tasks(source or shipped_corpus(), where, names, limit)
    if keep is not None and not found.structures:
        raise PackError("--keep goes by the structures that a pack lists; samples have none")
    # This loads torch: seconds, which no other verb and no completion should wait for.
    from graph_net.capture.worker import Budget
    from graph_net.validate.checks import Limits
    from graph_net.validate.kept import Kept
    from graph_net.validate.pool import validate_all
    from graph_net.validate.report import with_redundancy

    start = time.monotonic()
    kept = None if keep is None else Kept(keep)
    before = [] if kept is None else kept.verdicts(found.structures)
    verdicts = [verdict for verdict in before if verdict.ok]  # what failed is tried again
    known = {verdict.name for verdict in verdicts}
    running = validate_all(
        found.tasks(known),
        jobs or os.cpu_count() or 1,
        Budget(seconds, gigabytes),
        Limits(real_bytes, real_flops),
        _zoos(set(found.libraries.values())) if against_models else None,
    )
    with progress("validate", len(found.libraries) - len(known)) as advance, kept or nullcontext():
        for verdict in running:
            verdicts.append(verdict)
            if kept is not None:
                kept.add(verdict)
            advance(not verdict.ok)
    told = with_redundancy(verdicts)
    if json:
        typer.echo(jsonlib.dumps([verdict.as_json() for verdict in told], indent=1))
    else:
        verdict_table(told, found.libraries)
        failure_table(told)
    summary(told, time.monotonic() - start)
    if not all(verdict.ok for verdict in told):
        raise typer.Exit(1)


class Found:
    """Graphs to validate: the library of each, and how to get at those that are not known yet.

    ``structures`` are those a pack lists; samples have none before they are read.
    """

    def __init__(
        self,
        libraries: dict[str, str],
        tasks: Callable[[Collection[str]], Iterator[Task]],
        structures: dict[str, str] | None = None,
    ) -> None:
        self.libraries, self.tasks, self.structures = libraries, tasks, structures or {}


def tasks(source: Path, where: str | None, names: Path | None, limit: int | None) -> Found:
    """The graphs of a pack or of sample directories that were asked for."""
    listed = None if names is None else set(read_text(names).split("\n"))
    if is_pack(source):
        pack = Pack(source)
        rows = [r for r in select(pack, where) if listed is None or r["name"] in listed][:limit]
        chosen = {row["name"]: row["library"] or "" for row in rows}
        return Found(
            chosen,
            lambda known: _from_pack(pack, [name for name in chosen if name not in known]),
            {row["name"]: row["structure"] for row in rows},
        )
    if where is not None:
        raise PackError(f"{source} is no pack; --where asks a pack")
    samples = {utf8_name(str(path.relative_to(source))): path for path in find_samples(source)}
    if listed is not None:
        samples = {name: path for name, path in samples.items() if name in listed}
    samples = dict(list(samples.items())[:limit])
    if not samples:
        raise PackError(f"{source} is neither a pack nor a sample directory, and holds no sample")
    return Found(dict.fromkeys(samples, ""), lambda known: _from_samples(samples))


def _from_pack(pack: Pack, names: list[str]) -> Iterator[Task]:
    from graph_net.validate.pool import Task

    # A graph is decoded in the process that may die of it.
    for name, data in pack.blobs(names):
        yield Task(name, partial(from_bytes, data, pack.limits))


def _from_samples(samples: dict[str, Path]) -> Iterator[Task]:
    from graph_net.validate.pool import Task

    for name, path in samples.items():
        yield Task(name, partial(open_confined, path), path)


def _zoos(libraries: set[str]) -> Callable[[str], Zoo]:
    from graph_net.capture.zoo import load

    zoos = {library: load(library) for library in sorted(libraries)}
    for zoo in zoos.values():
        next(iter(zoo.entries()), None)  # imports its library, here rather than in each process
    return zoos.__getitem__
