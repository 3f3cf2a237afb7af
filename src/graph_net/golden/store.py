"""Golden runs on disk: for each graph its bytes, its outputs, and what was measured.

    NAME.graph          the graph, so that another machine needs no corpus
    NAME.safetensors    its outputs; none where the run failed
    NAME.json           the record with every raw sample, the protocol, hashes; written last

NAME is a hash of the graph and the configuration. A set without its ``.json`` is no set, so a run
that is killed leaves whole sets and at most one that is made again. What is read here may come
from another machine: sizes are limited, hashes are compared, and nothing is executed.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from graph_net import __version__
from graph_net.graph import DEFAULT_LIMITS
from graph_net.measure import Measurement, Protocol
from graph_net.measure.golden import ENVIRONMENT, Golden, hash_of
from graph_net.results import (
    Config,
    Failure,
    Json,
    Record,
    RecordError,
    Stage,
    Symptom,
    canonical,
    digest,
    read_as,
)
from graph_net.store.atomic import move, write_bytes
from graph_net.store.files import open_regular

FORMAT = 1
LARGEST_JSON = 64 << 20
_ASIDE = ".outputs"


class GoldenError(ValueError):
    """A golden run cannot be used: it is damaged, or not what was asked for."""


@dataclass(frozen=True)
class GoldenRun:
    """One graph of a golden run; ``asked`` is what a front door was told and a record is not."""

    record: Record
    protocol: Protocol
    graph: str
    """The hash of the graph's bytes."""
    environment: Mapping[str, Json] = field(default_factory=dict)
    asked: Mapping[str, Json] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def usable(self) -> bool:
        """Whether there is anything to compare with."""
        return self.record.failure is None

    @property
    def outputs_hash(self) -> str:
        """The hash of the file of outputs, as it was when it was written."""
        found = self.record.environment.get(ENVIRONMENT)
        return str(found.get("sha256")) if isinstance(found, dict) else ""


def machine() -> dict[str, Json]:
    """What a device's fingerprint leaves out, and a regression may be due to."""
    found: dict[str, Json] = {"graph_net": __version__, "kernel": platform.release()}
    found["libc"] = " ".join(platform.libc_ver())
    try:
        driver = Path("/proc/driver/nvidia/version").read_text("utf-8").splitlines()[0]
        found["driver"] = driver.removeprefix("NVRM version:").strip()
    except (OSError, IndexError):
        pass
    return found


class GoldenStore:
    """A directory of golden runs."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def names(self) -> list[str]:
        """The complete sets."""
        return sorted(file.stem for file in self.path.glob("*.json"))

    def require(self) -> GoldenStore:
        """This store, if it holds anything; raises otherwise."""
        if not self.names():
            raise GoldenError(f"{self.path} holds no golden run; `graph-net reference` makes one")
        return self

    def writing(self, task: Measurement) -> Golden:
        """Where a worker writes the outputs of a task."""
        return Golden(str((self.path / _ASIDE / f"{name_of(task)}.safetensors").absolute()))

    def comparing(self, name: str) -> Golden:
        """What a worker compares its outputs with."""
        return Golden(str(self._file(name, "safetensors").absolute()), compare=True)

    def clear(self) -> None:
        """Drop outputs whose measurement was killed."""
        for left in (self.path / _ASIDE).glob("*"):
            left.unlink(missing_ok=True)

    def add(self, task: Measurement, record: Record, asked: Mapping[str, Json]) -> Record:
        """Store what came of a task, and return it; when this returns it survives a kill."""
        name, aside = name_of(task), Path(self.writing(task).path)
        record = _with_outputs(record, aside)
        self._file(name, "json").unlink(missing_ok=True)  # what it stood for goes now
        if record.failure is None:
            move(aside, self._file(name, "safetensors"))
        else:
            for left in (aside, self._file(name, "safetensors")):
                left.unlink(missing_ok=True)
        write_bytes(self._file(name, "graph"), task.graph)
        graph = sha256(task.graph).hexdigest()
        run = GoldenRun(record, task.protocol, graph, machine(), asked)
        tree = asdict(run)
        sealed: Json = {"sha256": sha256(canonical(tree).encode()).hexdigest(), "run": tree}
        write_bytes(self._file(name, "json"), canonical(sealed).encode())
        return record

    def read(self, name: str) -> GoldenRun:
        """What was measured of one graph; raises GoldenError where the file is damaged."""
        path = self._file(name, "json")
        try:
            run = read_as(GoldenRun, _unsealed(_limited(path, LARGEST_JSON)), "golden run")
        except RecordError as error:
            raise GoldenError(f"{path.name} is damaged: {error}") from error
        if run.format != FORMAT:
            raise GoldenError(f"{path.name} has format {run.format}; this reads {FORMAT}")
        return run

    def graph(self, name: str, run: GoldenRun) -> bytes:
        """The graph of a run, checked; raises GoldenError if it or the outputs are damaged."""
        path = self._file(name, "graph")
        data = _limited(path, DEFAULT_LIMITS.bytes)
        if sha256(data).hexdigest() != run.graph:
            raise GoldenError(f"{path.name} is damaged: its hash is another one")
        outputs = self._file(name, "safetensors")
        if run.usable:
            try:
                found = hash_of(outputs)
            except OSError as error:
                raise GoldenError(f"{outputs.name} cannot be read: {error.strerror}") from error
            if found != run.outputs_hash:
                raise GoldenError(f"{outputs.name} is damaged: its hash is another one")
        return data

    def runs(self) -> Iterator[tuple[str, GoldenRun]]:
        """Every run that can be read; damaged ones are passed over."""
        for name in self.names():
            try:
                yield name, self.read(name)
            except GoldenError:
                continue

    def _file(self, name: str, suffix: str) -> Path:
        return self.path / f"{name}.{suffix}"


def name_of(task: Measurement) -> str:
    """What the files of a task are called."""
    return golden_name(task.subject.id, task.config)


def golden_name(graph_id: str, config: Config) -> str:
    """The same for equal graphs and configurations, whatever the compiler's version."""
    return digest(graph_id, config.kind, config.name, canonical(dict(config.options)))


def _with_outputs(record: Record, outputs: Path) -> Record:
    """The record; a failure where a worker that tells of a success left no outputs."""
    if record.failure is not None or outputs.is_file():
        return record
    why = "the file of outputs that its record tells of was not left behind"
    return replace(record, failure=Failure(Stage.VERIFY, Symptom.EXCEPTION, why, why))


def _unsealed(data: bytes) -> str:
    """The text that its hash stands beside: a time with one digit changed is a time too."""
    try:
        tree = json.loads(data)
        text = canonical(tree["run"])
        whole = sha256(text.encode()).hexdigest() == tree["sha256"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise RecordError(f"no sealed JSON: {error}") from error
    if not whole:
        raise RecordError("its hash is another one")
    return text


def _limited(path: Path, most: int) -> bytes:
    try:
        with open_regular(path) as file:
            data = file.read(most + 1)
    except OSError as error:
        raise GoldenError(f"{path.name} cannot be read: {error.strerror}") from error
    if len(data) > most:
        raise GoldenError(f"{path.name} is larger than the {most >> 20} MiB that are read here")
    return data
