"""The work of a worker, as it travels between processes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from graph_net.compilers.form_cache import OUTBOX, take_file, take_forms
from graph_net.compilers.registry import BUILT_IN
from graph_net.isolate import Needs, Sandbox
from graph_net.measure.golden import GOLDEN_FILE, Golden
from graph_net.measure.protocol import MeasureLimits, Protocol
from graph_net.results import (
    Config,
    Device,
    Failure,
    Json,
    Record,
    Stage,
    Subject,
    from_json,
    key_of,
    to_json,
)

Announce = Callable[[Stage, dict[str, Json]], None]
"""Called with a stage, and with the environment to record should the worker die in it."""

Say = Callable[[str], None]
Answer = Callable[[int, Say], bytes]
"""Takes the parent's seed and a function that reports progress to it; returns outputs."""


@dataclass(frozen=True)
class WorkerContext:
    """What a worker's process offers to its job."""

    workdir: Path
    announce: Announce
    wait: Callable[[], None]
    """Returns when it is this worker's turn to measure."""
    clock: Callable[[], float]
    """Seconds that the process ran, without those it was stopped for."""
    confinement: str = ""
    """What confines the process, as the record states it."""
    offer: Callable[[Answer], None] = lambda answer: None
    """Takes the function that answers the parent once the result is written (``audit.py``)."""
    quiet: Callable[[], None] = lambda: None
    """Returns when all other workers are stopped; for a turn that was too noisy."""


class WorkerJob(Interface):
    """What a worker does from the fork to its end, with one turn in the measuring lane."""

    @property
    def key(self) -> str:
        """The key of its result."""
        ...

    @property
    def limits(self) -> MeasureLimits:
        """Its limits of time and memory."""
        ...

    def sandbox(self, workdir: Path) -> Sandbox:
        """Return what its process may reach; called there, before it is confined."""
        ...

    def run(self, context: WorkerContext) -> bytes:
        """Do it, in a process of its own."""
        ...

    def check(self, result: bytes) -> None:
        """Raise ValueError unless these bytes, from a process, are a result of this work."""
        ...

    def keep(self, workdir: Path) -> None:
        """Move files to keep out of the work directory; its process has ended."""
        ...

    def died(
        self, failure: Failure, environment: dict[str, Json], started: str, seconds: float
    ) -> bytes:
        """Return the result of work whose process died."""
        ...


@dataclass(frozen=True)
class Measurement:
    """One graph under one configuration on one device; ``graph`` is its bytes."""

    subject: Subject
    config: Config
    device: Device
    graph: bytes
    protocol: Protocol = field(default_factory=Protocol)
    limits: MeasureLimits = field(default_factory=MeasureLimits)
    forms: str | None = None
    """A directory that keeps converted forms for other measurements; no part of the key."""
    golden: Golden | None = None
    """Where the outputs go, or what they are compared with; no part of the key."""

    @property
    def key(self) -> str:
        """The key its record will have."""
        return key_of(self.subject.id, self.config, self.device, self.protocol.hash)

    def header(self) -> dict[str, Any]:
        """Return all but the graph, as JSON."""
        return asdict(replace(self, graph=b"")) | {"graph": None}

    @classmethod
    def from_header(cls, tree: dict[str, Any], graph: bytes) -> Measurement:
        """Return the task of a header that this package wrote."""
        limits = tree["limits"]
        seconds = {Stage(stage): value for stage, value in limits["seconds"].items()}
        return cls(
            subject=Subject(**tree["subject"]),
            config=Config(**tree["config"]),
            device=Device(**tree["device"]),
            graph=graph,
            protocol=Protocol(**tree["protocol"]),
            limits=MeasureLimits(seconds, limits["memory_bytes"]),
            forms=tree["forms"],
            golden=None if tree["golden"] is None else Golden(**tree["golden"]),
        )

    def sandbox(self, workdir: Path) -> Sandbox:
        """Allow its work directory, what its compiler needs, and the files it reads."""
        from graph_net.compilers import CompilerError, create

        reads = [Path(self.forms)] if self.forms else []
        if self.golden is not None and self.golden.compare:
            reads.append(Path(self.golden.path))
        file = Path(self.config.name.partition(":")[0])
        if file.suffix == ".py":
            reads.append(file)
        needs = Needs(tuple(reads))
        # A compiler that cannot be created fails later, where the record can say so.
        with suppress(CompilerError):
            needs |= create(self.config.name, self.config.options).needs
        return Sandbox(workdir, needs, self.device.kind)

    def run(self, context: WorkerContext) -> bytes:
        """Measure, and return the record as JSON."""
        from graph_net.measure.worker import Worker

        worker = Worker(
            *(self, context.workdir, context.announce, context.wait, context.clock),
            *(context.offer, context.quiet),
        )
        worker.environment["sandbox"] = context.confinement
        return to_json(worker.run()).encode()

    def check(self, result: bytes) -> None:
        """Raise ValueError unless these bytes are a record of this task."""
        if from_json(result).key != self.key:
            raise ValueError("the record is of another task")

    def keep(self, workdir: Path) -> None:
        """Move converted forms and golden outputs to where they are kept.

        Forms serve other compilers, so those of an external compiler are not taken: it could slow
        down, or break, the ones that it is compared with.
        """
        if self.forms and self.config.name in BUILT_IN:
            take_forms(workdir / OUTBOX, Path(self.forms), self.graph, self.device.kind)
        if self.golden is not None and not self.golden.compare:
            take_file(workdir / GOLDEN_FILE, Path(self.golden.path))

    def died(
        self, failure: Failure, environment: dict[str, Json], started: str, seconds: float
    ) -> bytes:
        """Return the record of a failure, as JSON."""
        record = self.failed(failure, environment=environment, started=started, seconds=seconds)
        return to_json(record).encode()

    def failed(self, failure: Failure, **fields: Any) -> Record:
        """Return the record of a failure that the worker itself could not report."""
        return self.record(failure=failure, **{"started": now(), **fields})

    def record(self, **fields: Any) -> Record:
        """Return a record of this task."""
        settings = self.protocol.settings
        return Record(
            self.subject, self.config, self.device, settings.hash, settings=settings, **fields
        )


def now() -> str:
    """Return the time in UTC, as records have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
