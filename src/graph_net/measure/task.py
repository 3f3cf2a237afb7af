"""What a worker is asked to measure, as it travels between processes."""

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
"""What a worker tells on its way: where it is, and what it knows should it die there."""

Say = Callable[[str], None]
Answer = Callable[[int, Say], bytes]
"""Takes the parent's seed and a way to tell it how far things are; gives outputs."""


@dataclass(frozen=True)
class Surroundings:
    """What a worker has around it."""

    workdir: Path
    announce: Announce
    wait: Callable[[], None]
    """Returns when nothing else is running."""
    clock: Callable[[], float]
    """Seconds that the process ran, those it was stopped for left out."""
    confinement: str = ""
    """What confines the process, as the record tells it."""
    offer: Callable[[Answer], None] = lambda answer: None
    """Told how to answer the parent once the result is written (``audit.py``)."""
    quiet: Callable[[], None] = lambda: None
    """Returns when everything else of ours is stopped; for who found its turn too noisy."""


class WorkerJob(Interface):
    """Something that a worker does, from the fork to its end, with one turn in the measuring lane.

    The lanes need no more than this of a task.
    """

    @property
    def key(self) -> str:
        """What its result is found by."""
        ...

    @property
    def limits(self) -> MeasureLimits:
        """What it may cost."""
        ...

    def sandbox(self, workdir: Path) -> Sandbox:
        """What its process may reach; asked in that process, before it is confined."""
        ...

    def run(self, around: Surroundings) -> bytes:
        """Do it, in a process of its own."""
        ...

    def check(self, result: bytes) -> None:
        """Raise ValueError unless these bytes, which a process gave, are a result of this work."""
        ...

    def keep(self, workdir: Path) -> None:
        """Take what was left in the work directory to be kept; its process is gone."""
        ...

    def died(self, failure: Failure, known: dict[str, Json], started: str, seconds: float) -> bytes:
        """The result of work that could not tell of its end."""
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
        """All but the graph, as JSON."""
        return asdict(replace(self, graph=b"")) | {"graph": None}

    @classmethod
    def from_header(cls, tree: dict[str, Any], graph: bytes) -> Measurement:
        """The task of a header that this package sent itself."""
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
        """Its work directory, what its compiler needs, and the files that it is to read."""
        from graph_net.compilers import CompilerError, create

        reads = [Path(self.forms)] if self.forms else []
        if self.golden is not None and self.golden.compare:
            reads.append(Path(self.golden.path))
        file = Path(self.config.name.partition(":")[0])
        if file.suffix == ".py":
            reads.append(file)
        needs = Needs(tuple(reads))
        # A compiler that cannot be made fails where the record can say so.
        with suppress(CompilerError):
            needs |= create(self.config.name, self.config.options).needs
        return Sandbox(workdir, needs, self.device.kind)

    def run(self, around: Surroundings) -> bytes:
        """Measure; the record as JSON."""
        from graph_net.measure.worker import Worker

        worker = Worker(
            self,
            around.workdir,
            around.announce,
            around.wait,
            around.clock,
            around.offer,
            around.quiet,
        )
        worker.environment["sandbox"] = around.confinement
        return to_json(worker.run()).encode()

    def check(self, result: bytes) -> None:
        """Raise ValueError unless these bytes are a record of this task."""
        if from_json(result).key != self.key:
            raise ValueError("a record of another task")

    def keep(self, workdir: Path) -> None:
        """Move forms and golden outputs to where they are kept.

        Forms serve other compilers, so those that a compiler from elsewhere left are not taken: it
        could slow down, or break, the ones that it is compared with.
        """
        if self.forms and self.config.name in BUILT_IN:
            take_forms(workdir / OUTBOX, Path(self.forms), self.graph, self.device.kind)
        if self.golden is not None and not self.golden.compare:
            take_file(workdir / GOLDEN_FILE, Path(self.golden.path))

    def died(self, failure: Failure, known: dict[str, Json], started: str, seconds: float) -> bytes:
        """The record of a failure, as JSON."""
        record = self.failed(failure, environment=known, started=started, seconds=seconds)
        return to_json(record).encode()

    def failed(self, failure: Failure, **known: Any) -> Record:
        """The record of a failure that the worker itself could not tell."""
        return self.record(failure=failure, **{"started": now(), **known})

    def record(self, **known: Any) -> Record:
        """A record of this task."""
        settings = self.protocol.settings
        return Record(
            self.subject, self.config, self.device, settings.hash, settings=settings, **known
        )


def now() -> str:
    """The time, as records have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
