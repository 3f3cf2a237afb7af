"""Write a collection as tables of a store: programs, tasks and workloads."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from graph_net.corpus.pack import PackWriter
from graph_net.graph import from_bytes
from graph_net.programs.collection.collect import Collection
from graph_net.programs.collection.collection_dir import CollectionMachine
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.formats import Damage, Place, ReadError
from graph_net.programs.formats.collected import read_collected
from graph_net.programs.store.columns import FORMAT_VERSION
from graph_net.programs.store.program_store import Labels, ProgramStore
from graph_net.programs.store.task_table import SCHEMA, write_rows
from graph_net.programs.store.workload_table import SCHEMA as WORKLOADS
from graph_net.results import Program

SOURCE = Path("collected")
"""Source name stored with programs that were collected, not read from a file."""
SUBGRAPHS = "subgraphs"


def store(
    collection: Collection, machine: CollectionMachine, tasks: Sequence[CollectedTask], output: Path
) -> int:
    """Write all programs of these tasks to a store; return how many there are.

    File names contain the collection's name: a continued collection replaces only its own files.
    """
    output.mkdir(parents=True, exist_ok=True)
    part = output / f"programs-{FORMAT_VERSION}-{machine.name}.parquet"
    programs = _programs(collection.journal.path, {task.workload.hash for task in tasks})
    added = ProgramStore(output).add_part(
        part, SOURCE, programs, Labels(device=machine.device.name)
    )
    if added.damaged:
        _, damage = added.examples[0]
        raise ReadError(f"{added.damaged} lines of the journal are damaged: {damage.reason}")
    write_rows(output / f"tasks-{machine.name}.parquet", SCHEMA, list(_rows(tasks)))
    modules = [
        {"source": SOURCE.name, "workload": task.workload.hash, "module": task.workload.module}
        for task in tasks
    ]
    write_rows(output / f"workloads-{machine.name}.parquet", WORKLOADS, modules)
    _write_subgraphs(output / SUBGRAPHS, tasks)
    return added.programs


def _programs(journal: Path, workloads: set[str]) -> Iterator[tuple[Place, Program | Damage]]:
    """Yield the programs of these workloads, and damaged lines."""
    for place, line in read_collected(journal):
        if isinstance(line, Damage) or line.task.workload in workloads:
            yield place, line


def _write_subgraphs(pack: Path, tasks: Sequence[CollectedTask]) -> None:
    """Write the tasks' subgraphs as a pack; subgraphs already there are left alone."""
    with PackWriter(pack) as writer:
        for task in tasks:
            name = f"{task.workload.name}-{task.workload.hash}"
            if task.subgraph and name not in writer.names:
                writer.add(name, from_bytes(b64decode(task.subgraph)))


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
