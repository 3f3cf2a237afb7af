"""Measure programs on the lanes of a cluster: turns of tasks go to nodes of one kind.

A collection holds the programs of one device, so nodes with another device are excluded and named.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graph_net.cluster.connection import Cluster, ClusterError
from graph_net.cluster.dispatch import PATIENCE, LostWork, dispatch
from graph_net.cluster.lane import NODE
from graph_net.cluster.lane_crew import LaneCrew, LaneReport
from graph_net.cluster.program_lane import ProgramLane
from graph_net.cluster.turn_messages import TurnAnswer, turn_to_json
from graph_net.programs.collection.bench import Event, LostTurn
from graph_net.programs.collection.drawn_schedules import DrawnSchedules, schedules_of
from graph_net.programs.collection.plan import Turn
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.spaces.space import Workload
from graph_net.results import Device, Program, canonical, program_from_json
from graph_net.store.files import read_bytes


@dataclass(frozen=True)
class ProgramLanes:
    """Lanes for programs: one turn at a time, on nodes with the same device."""

    device: str
    jobs: int
    workload: Workload | None = None
    """A workload to test a GPU's compiler with."""
    wanted: Device | None = None
    """The device of the collection; None for any."""
    busy: Mapping[str, int] = field(default_factory=dict)
    """The turn in flight of each task: the next turn draws after it."""
    begin: Callable[[Any, Turn], Any] = lambda actor, turn: None
    actor: type = ProgramLane
    threaded: bool = False

    def arguments(self) -> tuple[Any, ...]:
        """Return the device, and the workload to test with."""
        return (self.device, self.workload)

    def takes(self, report: LaneReport, item: Turn) -> bool:
        """Return whether a lane has the device, and the task has no other turn in flight."""
        out = self.busy.get(item.task.workload.hash, item.number)  # its own, if it was lost
        return report.device == self.wanted and out == item.number

    def send(self, actor: Any, report: LaneReport, item: Turn) -> Any:
        """Start a turn."""
        return self.begin(actor, item)


def find_device(
    cluster: Cluster,
    lanes: ProgramLanes,
    claimed: Device | None,
    tell: Callable[[str], None],
) -> Device:
    """Return the device of a collection: its existing one, or that of most nodes."""
    crew: LaneCrew[Turn] = LaneCrew(cluster, lanes, tell)
    try:
        crew.wait_until_known(PATIENCE)
        devices = Counter(report.device.hash for report in crew.reports())
        known = {report.device.hash: report.device for report in crew.reports()}
    finally:
        crew.stop([])
    if not devices:
        raise ClusterError(f"no node of the cluster can measure programs on {lanes.device}")
    chosen = claimed if claimed is not None else known[devices.most_common(1)[0][0]]
    if chosen.hash not in known:
        raise ClusterError("no node of the cluster is the device of --work; name another --work")
    if others := devices.total() - devices[chosen.hash]:
        tell(f"left out: {others} lanes are another device; they need another --work")
    return chosen


class ClusterBench:
    """Builds and times programs on nodes; drawn schedules are stored here, as without a cluster."""

    def __init__(
        self, cluster: Cluster, lanes: ProgramLanes, work: Path, until: float,
        tell: Callable[[str], None],
    ) -> None:  # fmt: skip
        assert lanes.wanted is not None
        self.cluster, self.work, self.until = cluster, work, until
        self.busy: dict[str, int] = {}
        self.best: Mapping[str, float] = {}
        self._device = lanes.wanted
        self._lanes = replace(lanes, busy=self.busy, begin=self._begin)
        self._tell = tell

    @property
    def device(self) -> Device:
        """Return the device that programs are measured on; it is stored with each program."""
        return self._device

    def count(self, task: CollectedTask, seed: int, most: int) -> int:
        """Return how many of the first ``most`` programs the task is known to have."""
        drawn, complete = schedules_of(self.work, task.workload.hash, seed).known(most)
        return len(drawn) if complete and self._lanes.device == "cpu" else most

    def run(self, turns: Iterator[Turn], best: Mapping[str, float]) -> Generator[Event]:
        """Measure turns on all lanes; start none after time is up."""
        self.best = best
        crew: LaneCrew[Turn] = LaneCrew(self.cluster, self._lanes, self._tell)
        for turn, answer in dispatch(self.cluster, self._pending(turns), crew):
            self.busy.pop(turn.task.workload.hash, None)
            if isinstance(answer, LostWork):
                yield LostTurn(f"{turn.task.workload.name}: {answer.reason}")
                continue
            assert isinstance(answer, TurnAnswer)
            yield from self._events(turn, answer)

    def _events(self, turn: Turn, answer: TurnAnswer) -> Iterator[Event]:
        try:
            self._schedules(turn).add(answer.drawn)
        except ValueError as error:
            yield LostTurn(f"{answer.node}: {error}")
            return
        for line in answer.programs:
            yield _stamp(program_from_json(line), answer.node)
        yield from answer.lost

    def _pending(self, turns: Iterator[Turn]) -> Iterator[Turn]:
        """Yield the turns that have something left to measure."""
        for turn in turns:
            if time.monotonic() > self.until:
                return
            drawn, complete = self._schedules(turn).known(turn.end)
            if not complete or turn.pending(drawn):
                yield turn

    def _begin(self, actor: Any, turn: Turn) -> Any:
        self.busy[turn.task.workload.hash] = turn.number
        path = self._schedules(turn).path
        drawn = read_bytes(path) if path.exists() else b""
        return actor.turn.remote(turn_to_json(turn, self.best), drawn)

    def _schedules(self, turn: Turn) -> DrawnSchedules:
        return schedules_of(self.work, turn.task.workload.hash, turn.seed)


def _stamp(program: Program, node: str) -> Program:
    """Return the program with its node's name added."""
    extra = json.loads(program.extra) if program.extra else {}
    return replace(program, extra=canonical({**extra, NODE: node}))
