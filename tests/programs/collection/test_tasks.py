"""TVM asked for the tasks of networks, each in a process that may die of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_net.graph import Graph, to_bytes
from graph_net.programs.collection import tasks
from graph_net.programs.collection.tasks import Extraction, NetworkTask
from graph_net.programs.spaces import Workload
from graph_net.testing.models import case_graph

WORK = Workload("metaschedule", "conv", "text", "")


def extraction(work: Path) -> Extraction:
    data = to_bytes(case_graph("experts"))
    asked = Extraction(work, 2, dict.fromkeys(("good", "bad"), "id"))
    asked.run([("good", data), ("bad", data)], 2, lambda: None)
    return asked


def answers(name: str, graph: Graph, cores: int) -> Iterator[NetworkTask]:
    yield NetworkTask(name, WORK, 3, "structure", "id", "data")
    if name == "bad":
        os.kill(os.getpid(), signal.SIGUSR2)


def test_what_a_process_died_of_is_kept_and_the_other_networks_have_their_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "network_tasks", answers)
    asked = extraction(tmp_path)
    assert list(asked.tasks()) == [NetworkTask("good", WORK, 3, "structure", "id", "data")]
    assert asked.failures() == {"bad": "died of SIGUSR2"}
    assert asked.missing() == []


def test_a_process_cannot_answer_for_another_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "network_tasks", lambda name, *_: answers(f"not {name}", *_))
    failures = extraction(tmp_path).failures()
    assert set(failures) == {"good", "bad"}
    assert all(why.endswith("tasks of another network") for why in failures.values())


def test_a_process_cannot_write_where_the_answers_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def writes(name: str, graph: Graph, cores: int) -> Iterator[NetworkTask]:
        (tmp_path / "good@id.json").write_text("{}")
        yield from answers(name, graph, cores)

    monkeypatch.setattr(tasks, "network_tasks", writes)
    assert all("PermissionError" in why for why in extraction(tmp_path).failures().values())
