"""One lane per device, as Ray actors: started on nodes with devices, watched, and replaced."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol

from graph_net import __version__
from graph_net.cluster.connection import Cluster, ClusterNode
from graph_net.cluster.dispatch import POLL, Sent, WorkItem
from graph_net.printable import first_line
from graph_net.results import Config, Device

MEASURE = "measure"
"""A resource of nodes that may measure; if no node has it, all may."""
GOODBYE = 5.0
"""Seconds that lanes have to stop their processes and remove their files."""

SPARE = 3
"""Threads of an actor for calls other than items."""


def room_for(jobs: int) -> int:
    """Return how many items a lane has at a time: those it builds, as many queued, one measured."""
    return 2 * jobs + 1


def jobs_of(room: int) -> int:
    """Return how many of a lane's items are built at a time."""
    return room // 2


@dataclass(frozen=True)
class LaneReport:
    """What a lane reports of its node when it starts."""

    node: str
    device: Device
    room: int
    """Number of items that it can have at a time."""
    configs: tuple[Config, ...] = ()
    """The requested configurations, with the versions installed there."""
    missing: tuple[str, ...] = ()
    """Why each configuration cannot be used there; empty if it can."""
    version: str = __version__


class LaneKind(Protocol[Sent]):
    """The job of lanes: the class of their actor, and how items are sent to them."""

    @property
    def actor(self) -> type:
        """Class of the actors, with ``report``, ``close`` and the methods that ``send`` calls."""
        ...

    @property
    def device(self) -> str:
        """Kind of device: cpu or cuda."""
        ...

    @property
    def jobs(self) -> int:
        """Items that a lane builds at a time; 0 means one per core that it takes."""
        ...

    @property
    def threaded(self) -> bool:
        """Whether a call waits for its answer in a thread of its own."""
        ...

    def arguments(self) -> tuple[Any, ...]:
        """Return the constructor arguments of an actor, before its room."""
        ...

    def takes(self, report: LaneReport, item: Sent, /) -> bool:
        """Return whether a lane may have an item."""
        ...

    def send(self, actor: Any, report: LaneReport, item: Sent, /) -> Any:
        """Start an item; return Ray's reference to the answer."""
        ...


class DeviceLane(Generic[WorkItem]):
    """An actor as the driver sees it."""

    def __init__(self, node: ClusterNode, actor: Any, kind: LaneKind[WorkItem]) -> None:
        self.node, self.actor, self.kind = node, actor, kind
        self.report: LaneReport | None = None
        self.reporting: Any = actor.report.remote()
        self.reason = ""
        """Why the lane cannot do any work."""

    @property
    def room(self) -> int:
        return 0 if self.report is None else self.report.room

    def takes(self, item: WorkItem) -> bool:
        return self.report is not None and self.kind.takes(self.report, item)

    def send(self, item: WorkItem) -> Any:
        assert self.report is not None
        return self.kind.send(self.actor, self.report, item)

    def lost(self) -> None:
        """Request another report: Ray restarts the actor, unless its node is gone."""
        self.report = None
        if self.reporting is None:
            self.reporting = self.actor.report.remote()

    def failed(self, reason: str) -> None:
        self.report, self.reason = None, reason


class LaneCrew(Generic[WorkItem]):
    """The lanes of a cluster, one per device of its nodes."""

    def __init__(
        self, cluster: Cluster, kind: LaneKind[WorkItem], tell: Callable[[str], None]
    ) -> None:
        self.cluster, self.kind, self.tell = cluster, kind, tell
        self.lanes: dict[tuple[str, int], DeviceLane[WorkItem]] = {}
        self.refused: set[str] = set()
        """Nodes whose lanes cannot work."""
        self.looked = -POLL

    def places(self) -> Sequence[DeviceLane[WorkItem]]:
        """Return the lanes that have reported."""
        now = time.monotonic()
        if now - self.looked >= POLL:
            self.looked = now
            self._look_at_nodes()
        for reference in self._ready():
            lane = next(lane for lane in self.lanes.values() if lane.reporting == reference)
            self._receive(lane)
        for key, lane in [*self.lanes.items()]:
            if lane.reason:
                self._drop(key, f"left out: {lane.node.host}: {lane.reason}")
                self.refused.add(lane.node.id)
        return [lane for lane in self.lanes.values() if lane.report is not None]

    def reports(self) -> list[LaneReport]:
        """Return the reports of the working lanes."""
        return [lane.report for lane in self.lanes.values() if lane.report is not None]

    def awaited(self) -> Sequence[Any]:
        """Return the references of outstanding reports."""
        return [lane.reporting for lane in self.lanes.values() if lane.reporting is not None]

    def wait_until_known(self, patience: float) -> None:
        """Wait until a lane has reported, and briefly for the others."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if self.places():
                deadline = min(deadline, time.monotonic() + 10 * POLL)
            if self.places() and not self.awaited():
                return
            if awaited := self.awaited():
                self.cluster.ray.wait(awaited, num_returns=len(awaited), timeout=POLL)
            else:
                time.sleep(POLL / 4)

    def stop(self, out: Sequence[Any]) -> None:
        """Stop the lanes and their processes."""
        closing = [lane.actor.close.remote() for lane in self.lanes.values()]
        if closing:
            with suppress(Exception):
                self.cluster.ray.wait(closing, num_returns=len(closing), timeout=GOODBYE)
        for key in [*self.lanes]:
            self._drop(key)

    def _ready(self) -> list[Any]:
        awaited = list(self.awaited())
        if not awaited:
            return []
        ready, _ = self.cluster.ray.wait(awaited, num_returns=len(awaited), timeout=0)
        return list(ready)

    def _receive(self, lane: DeviceLane[WorkItem]) -> None:
        try:
            report = self.cluster.ray.get(lane.reporting)
        except self.cluster.ray.exceptions.RayError as error:
            lane.failed(first_line(error))
            return
        finally:
            lane.reporting = None
        if report.version != __version__:
            lane.failed(f"it has graph-net {report.version}, and this is {__version__}")
        else:
            lane.report = report

    def _look_at_nodes(self) -> None:
        nodes = {node.id: node for node in self.cluster.nodes()}
        for key, lane in [*self.lanes.items()]:
            if key[0] not in nodes:
                self._drop(key, f"lost: {lane.node.host} {lane.node.id[:8]}")
        for node, index, options in lane_options([*nodes.values()], self.kind.device):
            if (node.id, index) not in self.lanes and node.id not in self.refused:
                self.lanes[node.id, index] = self._start(node, options)

    def _start(self, node: ClusterNode, options: dict[str, Any]) -> DeviceLane[WorkItem]:
        room = room_for(self.kind.jobs or max(1, int(options["num_cpus"])))
        affinity = self.cluster.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        actor = self.cluster.ray.remote(self.kind.actor).options(
            scheduling_strategy=affinity(node.id, soft=False),
            max_restarts=-1,
            max_task_retries=0,  # items are resent to another lane instead
            max_concurrency=room + SPARE if self.kind.threaded else 1,
            **options,
        )
        return DeviceLane(node, actor.remote(*self.kind.arguments(), room), self.kind)

    def _drop(self, key: tuple[str, int], line: str = "") -> None:
        lane = self.lanes.pop(key)
        if line:
            self.tell(line)
        with suppress(Exception):  # it may be gone
            self.cluster.ray.kill(lane.actor)


def lane_options(
    nodes: Sequence[ClusterNode], device: str
) -> list[tuple[ClusterNode, int, dict[str, Any]]]:
    """Return where lanes belong: (node, number of the lane there, the resources it takes).

    Each GPU is a lane, with its share of the cores. Otherwise a lane is a whole machine and takes
    all cores of its node; two nodes on one host are one machine unless both have ``measure``.
    """
    if device.startswith("cuda"):
        return [
            (node, index, {"num_gpus": 1, "num_cpus": int(_cores(node) // gpus)})
            for node in nodes
            for gpus in [int(node.resources.get("GPU", 0))]
            for index in range(gpus)
        ]
    chosen = [node for node in nodes if node.resources.get(MEASURE)]
    if chosen:
        return [(n, 0, {"num_cpus": _cores(n), "resources": {MEASURE: 1}}) for n in chosen]
    hosts = {node.host: node for node in reversed(nodes) if _cores(node)}
    return [(node, 0, {"num_cpus": _cores(node)}) for node in hosts.values()]


def _cores(node: ClusterNode) -> float:
    return node.resources.get("CPU", 0.0)
