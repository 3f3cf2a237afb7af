"""Measure graphs on the lanes of a cluster; records are those of a run without one."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graph_net.cluster.connection import Cluster, ClusterError
from graph_net.cluster.content_cache import content_hash
from graph_net.cluster.dispatch import PATIENCE, LostWork, dispatch
from graph_net.cluster.lane import LanePlan, MeasuringLane
from graph_net.cluster.lane_crew import LaneCrew, LaneReport
from graph_net.measure.protocol import MeasureLimits, Protocol
from graph_net.measure.runner import Watch
from graph_net.measure.task import Measurement
from graph_net.printable import first_line
from graph_net.results import (
    Failure,
    Record,
    Stage,
    Subject,
    Symptom,
    from_json,
    key_of,
    short_name,
)
from graph_net.results.signature import signature_of

MOST_BOUND, MOST_PUT = 4096, 64
"""Graphs whose device is remembered, and whose bytes stay in Ray for the next configuration."""


@dataclass(frozen=True, eq=False)
class GraphJob:
    """A graph to measure under one configuration, on the first free device."""

    subject: Subject
    config: int
    """Index among the requested configurations."""
    data: bytes
    name: str
    """Hash of the bytes."""


@dataclass(eq=False)
class MeasuringRun:
    """What is measured and how; all configurations of a graph go to one kind of device."""

    cluster: Cluster
    plan: LanePlan
    protocol: Protocol
    limits: MeasureLimits
    done: Collection[str]
    jobs: int
    until: float | None
    watch: Watch
    name_task: Callable[[Measurement], None]
    tell: Callable[[str], None]
    actor: type = MeasuringLane
    threaded: bool = True
    bound: OrderedDict[str, str] = field(default_factory=OrderedDict)
    """Device of each graph, by their hashes: compilers are compared on one device."""
    references: OrderedDict[str, Any] = field(default_factory=OrderedDict)
    keys: dict[GraphJob, Measurement] = field(default_factory=dict)
    """Jobs in flight, without their bytes."""

    def __post_init__(self) -> None:
        self.device = self.plan.device
        self.crew: LaneCrew[GraphJob] = LaneCrew(self.cluster, self, self.tell)

    def records(
        self, graphs: Iterable[tuple[Subject, bytes]], passed: Callable[[], None]
    ) -> Iterator[Record]:
        """Yield the records of missing measurements, in order of completion."""
        self.crew.wait_until_known(PATIENCE)
        configs = self._usable()
        self._tell_devices()
        jobs = self._jobs(graphs, configs, passed)
        for job, answer in dispatch(self.cluster, jobs, self.crew):
            task = self.keys.pop(job)
            if answer is None:
                self.watch("stopped", task.key, "")
                continue
            self.watch("record", task.key, "")
            yield self._lost(task, answer) if isinstance(answer, LostWork) else from_json(answer)

    def arguments(self) -> tuple[Any, ...]:
        """Return the plan of a lane that starts now."""
        left = None if self.until is None else self.until - time.monotonic()
        return (replace(self.plan, seconds_left=left),)

    def takes(self, report: LaneReport, job: GraphJob) -> bool:
        """Return whether a lane has the compiler, and the device that the graph is bound to."""
        if report.missing[job.config]:
            return False
        bound = self.bound.get(job.subject.id)
        if bound is None or bound == report.device.hash:
            return True
        return all(other.device.hash != bound for other in self.crew.reports())

    def send(self, actor: Any, report: LaneReport, job: GraphJob) -> Any:
        """Send a graph by its hash; a node that lacks its bytes can fetch them."""
        self._bind(job.subject.id, report.device.hash)
        config = report.configs[job.config]
        task = Measurement(job.subject, config, report.device, b"", self.protocol, self.limits)
        self.keys[job] = task
        self.name_task(task)
        self.watch("start", task.key, "")
        return actor.measure.remote(task.header(), job.name, [self._reference(job)])

    def _reference(self, job: GraphJob) -> Any:
        if job.name not in self.references:
            self.references[job.name] = self.cluster.ray.put(job.data)
            if len(self.references) > MOST_PUT:
                self.references.popitem(last=False)
        return self.references[job.name]

    def _bind(self, graph: str, device: str) -> None:
        self.bound[graph] = device
        self.bound.move_to_end(graph)
        if len(self.bound) > MOST_BOUND:
            self.bound.popitem(last=False)

    def _jobs(
        self,
        graphs: Iterable[tuple[Subject, bytes]],
        configs: Sequence[int],
        passed: Callable[[], None],
    ) -> Iterator[GraphJob]:
        """Yield the jobs that no device of the cluster has measured, until time is up."""
        asked: set[tuple[str, int]] = set()
        for subject, data in graphs:
            name = content_hash(data)
            measured = {number: self._device_of(subject.id, number) for number in configs}
            for device in filter(None, measured.values()):
                self._bind(subject.id, device)
            for number in configs:
                if self.until is not None and time.monotonic() > self.until:
                    return
                if measured[number] or (subject.id, number) in asked:
                    passed()
                    continue
                asked.add((subject.id, number))
                yield GraphJob(subject, number, data, name)

    def _device_of(self, graph: str, number: int) -> str | None:
        """Return the device that has measured a graph under a configuration."""
        for report in self.crew.reports():
            key = key_of(graph, report.configs[number], report.device, self.protocol.hash)
            if key in self.done:
                return report.device.hash
        return None

    def _usable(self) -> list[int]:
        """Return the configurations that some node can use; raise ClusterError if none."""
        reports = self.crew.reports()
        if not reports:
            raise ClusterError(f"no node of the cluster can measure on {self.device}")
        usable = []
        for number, config in enumerate(self.plan.configs):
            reasons = [report.missing[number] for report in reports]
            if all(reasons):
                name = short_name(config.name)
                self.tell(f"left out: {name} cannot be used on any node: {reasons[0]}")
            else:
                usable.append(number)
        if not usable:
            raise ClusterError("no node of the cluster has any of these compilers")
        return usable

    def _tell_devices(self) -> None:
        reports = self.crew.reports()
        if len({report.device.hash for report in reports}) > 1:
            self.tell("the nodes are different devices: each has records of its own")

    def _lost(self, task: Measurement, lost: LostWork) -> Record:
        """Return the record of a measurement that lost every lane; a later run retries it."""
        why = first_line(ValueError(lost.reason), 500)
        failure = Failure(Stage.LOAD, Symptom.INFRASTRUCTURE, why, signature_of(why))
        return task.failed(failure)
