"""The tasks of networks: each workload once, with the networks it occurs in and how often.

TVM's answer for a network is stored in a file, so that resuming a collection does not ask again.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from graph_net.graph import Graph, from_bytes, to_bytes
from graph_net.isolate import Finished, Limits, MakePool, Pool
from graph_net.isolate.deaths import wrote_garbage
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.spaces import Workload
from graph_net.store.atomic import open_atomic
from graph_net.store.files import read_bytes


@dataclass(frozen=True)
class NetworkTask:
    """A workload as it occurs in one network."""

    network: str
    workload: Workload
    weight: int
    structure: str
    """Structure of the subgraph, then its id and bytes (base 64); empty for a part of a call."""
    graph: str
    subgraph: str


def merge_tasks(calls: Iterable[NetworkTask], every: bool = False) -> list[CollectedTask]:
    """Return each workload once; without ``every``, drop those that are only a part of a call."""
    tasks: dict[str, NetworkTask] = {}
    weights: dict[str, dict[str, int]] = {}
    for call in calls:
        if call.structure or every:
            tasks.setdefault(call.workload.hash, call)
            weights.setdefault(call.workload.hash, {})[call.network] = call.weight
    return [
        CollectedTask(first.workload, first.structure, first.graph, first.subgraph, weights[key])
        for key, first in tasks.items()
    ]


class Extraction:
    """Asks TVM for the tasks of graphs, one process per graph, and stores the answers.

    Answers are stored by name and graph id, so a changed graph of the same name is asked for again.
    """

    def __init__(
        self, work: Path, cores: int, ids: Mapping[str, str], budget: Limits | None = None
    ) -> None:
        self.work, self.cores, self.ids = work, cores, ids
        self.budget = budget or Limits.of(300, 8.0)

    def run(
        self,
        graphs: Iterable[tuple[str, bytes]],
        jobs: int,
        advance: Callable[[], None],
        make_pool: MakePool = Pool,
    ) -> None:
        """Extract the tasks of graphs that have no stored answer."""
        self.work.mkdir(parents=True, exist_ok=True)
        todo = [(name, data) for name, data in graphs if not self._file(name).exists()]
        for done in make_pool(self.budget, jobs).each(todo, partial(_ask, cores=self.cores)):
            self._keep(done.item[0], *_believed(done))
            advance()

    def missing(self) -> list[str]:
        """Return the networks without a stored answer."""
        return [name for name in self.ids if not self._file(name).exists()]

    def retry(self) -> None:
        """Delete the answers of networks that failed."""
        for name in self.failures():
            self._file(name).unlink()

    def _keep(self, name: str, tasks: list[Any], failed: str) -> None:
        tree = {"network": name, "failed": failed, "tasks": tasks}
        with open_atomic(self._file(name)) as file:
            file.write(json.dumps(tree).encode())

    def _file(self, name: str) -> Path:
        return self.work / f"{name.replace('/', '--')}@{self.ids[name]}.json"

    def tasks(self) -> Iterator[NetworkTask]:
        """Yield the stored tasks of these networks."""
        for name in self.ids:
            yield from _tasks(_tree(self._file(name)))

    def all_tasks(self) -> Iterator[NetworkTask]:
        """Yield the tasks of every network stored in this directory, from its newest answer."""
        files: dict[str, Path] = {}
        for file in sorted(self.work.glob("*@*.json"), key=lambda file: file.stat().st_mtime_ns):
            files[file.stem.rpartition("@")[0]] = file
        for file in files.values():
            yield from _tasks(_tree(file))

    def failures(self) -> dict[str, str]:
        """Return why networks have no tasks, by network."""
        files = {name: self._file(name) for name in self.ids}
        reasons = ((name, _tree(file)["failed"]) for name, file in files.items() if file.exists())
        return {name: why for name, why in reasons if why}


def _ask(item: tuple[str, bytes], cores: int) -> Iterator[dict[str, Any]]:
    """Ask TVM for the tasks of one network, in a process that may crash."""
    name, data = item
    for task in network_tasks(name, from_bytes(data), cores):
        yield asdict(task)


def _believed(done: Finished[Any]) -> tuple[list[Any], str]:
    """Return the tasks of a process's answer, or the reason for having none."""
    if done.death is not None:
        return [], done.death.reason[:500]
    answers = list(done.answers)
    try:
        if all(task.network == done.item[0] for task in _tasks({"tasks": answers})):
            return answers, ""
        return [], wrote_garbage("tasks of another network").reason
    except (TypeError, KeyError) as error:
        return [], wrote_garbage(error).reason[:500]


def _tree(file: Path) -> Any:
    return json.loads(read_bytes(file))


def _tasks(tree: Any) -> Iterator[NetworkTask]:
    for task in tree["tasks"]:
        yield NetworkTask(**{**task, "workload": Workload(**task["workload"])})


def network_tasks(name: str, graph: Graph, cores: int) -> Iterator[NetworkTask]:
    """Yield the tasks of one network."""
    from graph_net.programs.spaces.relax import tasks_of

    for task in tasks_of(graph, cores):
        piece = task.subgraph
        hashes = (piece.structure, piece.id, _base64(piece)) if piece else ("", "", "")
        yield NetworkTask(name, task.workload, task.weight, *hashes)


def _base64(graph: Graph) -> str:
    return b64encode(to_bytes(graph)).decode()
