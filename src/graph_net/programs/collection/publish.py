"""What a collection holds, as tables in a directory of records: programs, tasks and workloads."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from graph_net.corpus.pack import PackWriter
from graph_net.graph import from_bytes
from graph_net.programs.collection.collect import Collection
from graph_net.programs.collection.tasks import CollectedTask
from graph_net.programs.formats import Damage, Place, ReadError
from graph_net.programs.formats.collected import read_collected
from graph_net.programs.store.columns import LAYOUT
from graph_net.programs.store.program_store import Labels, ProgramStore
from graph_net.programs.store.task_table import SCHEMA, write_rows
from graph_net.programs.store.workload_table import SCHEMA as WORKLOADS
from graph_net.results import Json, Program, canonical

SOURCE = Path("collected")
"""What such programs have for the name of a file they came from."""
SUBGRAPHS = "subgraphs"


def store(collection: Collection, tasks: Sequence[CollectedTask], output: Path) -> int:
    """Write everything a collection has of these tasks; how many programs that is.

    The files bear the name of the collection's directory: gone on, it replaces its own alone.
    """
    device, label = collection.place.device, collection.place.name
    output.mkdir(parents=True, exist_ok=True)
    part = output / f"programs-{LAYOUT}-{label}.parquet"
    found = _programs(collection, tasks)
    added = ProgramStore(output).add_part(part, SOURCE, found, Labels(device=device))
    if added.damaged:
        _, damage = added.examples[0]
        raise ReadError(f"{added.damaged} lines of the journals are damaged: {damage.reason}")
    write_rows(output / f"tasks-{label}.parquet", SCHEMA, list(_rows(tasks)))
    modules = [
        {"source": SOURCE.name, "workload": task.workload.hash, "module": task.workload.module}
        for task in tasks
    ]
    write_rows(output / f"workloads-{label}.parquet", WORKLOADS, modules)
    _write_subgraphs(output / SUBGRAPHS, tasks)
    return added.programs


def _write_subgraphs(place: Path, tasks: Sequence[CollectedTask]) -> None:
    """The subgraphs that tasks compute, as a pack; those that are there stay."""
    with PackWriter(place) as writer:
        for task in tasks:
            name = f"{task.workload.name}-{task.workload.hash}"
            if task.subgraph and name not in writer.names:
                writer.add(name, from_bytes(b64decode(task.subgraph)))


def _programs(
    collection: Collection, tasks: Sequence[CollectedTask]
) -> Iterator[tuple[Place, Program | Damage]]:
    """A task after the other: what they have in common is stored once.

    The first program says with what they were measured, as in the files of Triton's collector.
    """
    line = 0
    made: dict[str, Json] = {"tvm": collection.place.tvm} if collection.place.tvm else {}
    for task in tasks:
        journal = collection.journal(task)
        _ = journal.done  # a line that a kill cut off goes
        if journal.path.exists():
            for place, found in read_collected(journal.path):
                line += 1
                if line == 1 and made and isinstance(found, Program):
                    found = replace(found, extra=canonical({"device": made}))
                yield Place(line, place.offset), found


def _rows(tasks: Sequence[CollectedTask]) -> Iterator[dict[str, Any]]:
    for task in tasks:
        for network, weight in task.weights.items():
            yield {
                "network": network,
                "workload": task.workload.hash,
                "kernel": task.workload.name,
                "structure": task.structure,
                "graph": task.graph,
                "weight": weight,
                "flops": task.workload.flops,
            }
