"""A data set of programs: a directory of records for each platform; which tasks are held out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from graph_net.programs.formats import ReadError
from graph_net.programs.view.overview import TaskSummary
from graph_net.results import RecordError
from graph_net.results.codec import read_as
from graph_net.store.files import read_bytes, read_text

SPLITS = "splits.json"
PATTERNS = {
    **{name: f"{name}-*.parquet" for name in ("programs", "tasks", "workloads")},
    "subgraphs": "subgraphs/part-*.parquet",
}
"""The files of each table of a platform; subgraphs are a pack, where a space has any."""


def platforms(folder: Path) -> dict[str, Path]:
    """The directories of records in a data set, by name."""
    found = {
        path.name: path
        for path in sorted(folder.iterdir() if folder.is_dir() else ())
        if any(path.glob(PATTERNS["programs"]))
    }
    if not found:
        raise ReadError(
            f"{folder} has no directory with programs in it: a data set is one for each platform"
        )
    return found


def files(path: Path) -> dict[str, list[Path]]:
    """The files of each table that a platform has."""
    found = {table: sorted(path.glob(pattern)) for table, pattern in PATTERNS.items()}
    return {table: parts for table, parts in found.items() if parts}


def digest(file: Path) -> str:
    """Of a file's bytes, as metadata has it."""
    return sha256(read_bytes(file)).hexdigest()


@dataclass(frozen=True)
class Split:
    """The tasks of a platform, each on one side: programs of a task are never on both."""

    held_out: tuple[str, ...]
    """The networks that are."""
    train: tuple[str, ...]
    test: tuple[str, ...]
    """Every task that a network of those calls."""


def is_held_out(network: str) -> bool:
    """Whether no model is trained on a network: TenSet's five, and those of the corpus's tasks."""
    from graph_net.capture.zoo.tenset import HELD_OUT
    from graph_net.programs.collection.kernel_tasks import HELD_OUT as OF_THE_CORPUS

    return network in OF_THE_CORPUS or network.rpartition("/")[2] in HELD_OUT


def split_of(tasks: list[TaskSummary]) -> Split:
    """Return the split of these tasks; the same for the same tasks, in whatever order."""
    networks = {network for task in tasks for network in task.weights}
    held = {network for network in networks if is_held_out(network)}
    test = {task.task for task in tasks if held & task.weights.keys()}
    train = {task.task for task in tasks} - test
    return Split(tuple(sorted(held)), tuple(sorted(train)), tuple(sorted(test)))


def lacking(tasks: Sequence[TaskSummary], split: Split) -> str:
    """Why one side of a split has no task; empty where both have some."""
    if not split.train:
        return "nothing to train on: networks that are held out call every task"
    if split.test:
        return ""
    if not any(task.weights for task in tasks):
        return "nothing to test with: no task says which networks call it"
    return "nothing to test with: none of its networks is one that is held out"


def save_splits(folder: Path, found: dict[str, Split]) -> None:
    """Write them beside the platforms."""
    trees = {name: asdict(split) for name, split in found.items()}
    (folder / SPLITS).write_text(json.dumps(trees, indent=1) + "\n", "utf-8")


def load_splits(folder: Path) -> dict[str, Split]:
    """The splits that a data set has, by platform."""
    file = folder / SPLITS
    try:
        trees = json.loads(read_text(file))
        return {name: read_as(Split, json.dumps(tree), "split") for name, tree in trees.items()}
    except FileNotFoundError as error:
        raise ReadError(f"no {file}; `graph-net programs card` writes it") from error
    except (ValueError, AttributeError, RecordError) as error:
        raise ReadError(f"{file} holds no splits: {error}") from error
