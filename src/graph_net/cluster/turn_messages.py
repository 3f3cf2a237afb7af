"""Turns of a collection of programs, and their results, as messages between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from graph_net.programs.collection.bench import LostTurn
from graph_net.programs.collection.plan import Turn, Wanted
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.spaces.space import Workload


@dataclass(frozen=True)
class TurnAnswer:
    """The programs of a turn as JSON, the losses, and the lines of schedules drawn for it."""

    node: str
    programs: tuple[bytes, ...] = ()
    lost: tuple[LostTurn, ...] = ()
    drawn: bytes = b""


@dataclass
class TurnResults:
    """The results of a turn that a process has reported so far."""

    programs: list[bytes] = field(default_factory=list)
    lost: list[LostTurn] = field(default_factory=list)


def turn_to_json(turn: Turn, best: Mapping[str, float]) -> dict[str, Any]:
    """Return the current state of a turn, with the best seconds of its workload."""
    workload = turn.task.workload.hash
    return {
        "task": asdict(turn.task),
        "number": turn.number,
        "wanted": asdict(turn.wanted),
        "outcomes": [[key, count] for key, count in turn.outcomes.items()],
        "best": {workload: best[workload]} if workload in best else {},
    }


def turn_from_json(tree: Mapping[str, Any]) -> tuple[Turn, dict[str, float]]:
    """Return the turn that ``turn_to_json`` wrote, and the best seconds."""
    task = {**tree["task"], "workload": Workload(**tree["task"]["workload"])}
    outcomes = dict(tree["outcomes"])
    turn = Turn(CollectedTask(**task), tree["number"], Wanted(**tree["wanted"]), outcomes)
    return turn, dict(tree["best"])
