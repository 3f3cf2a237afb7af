"""Golden runs on disk: for each graph its bytes, its outputs, and its record.

    NAME.graph          the graph, so that another machine needs no corpus
    NAME.safetensors    its outputs; absent if the run failed
    NAME.json           the record with every raw sample, the protocol, hashes; written last

NAME is a hash of the graph and the configuration. A set without its ``.json`` does not count, so a
killed run leaves whole sets and at most one that is made again. The files may come from another
machine: sizes are limited, hashes are compared, and nothing is executed.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
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
from graph_net.store.files import TooLarge, read_bytes

FORMAT = 1
LARGEST_JSON = 64 << 20
_ASIDE = ".outputs"


class GoldenError(ValueError):
    """A golden run that cannot be used: damaged, or not the requested one."""


@dataclass(frozen=True)
class GoldenRun:
    """One graph of a golden run; ``asked`` holds options of a front door beyond the record."""

    record: Record
    protocol: Protocol
    graph: str
    """The hash of the graph's bytes."""
    environment: Mapping[str, Json] = field(default_factory=dict)
    asked: Mapping[str, Json] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def usable(self) -> bool:
        """Whether it has outputs to compare with."""
        return self.record.failure is None

    @property
    def outputs_hash(self) -> str:
        """The hash of the file of outputs when it was written."""
        result = self.record.environment.get(ENVIRONMENT)
        return str(result.get("sha256")) if isinstance(result, dict) else ""


def describe_machine() -> dict[str, Json]:
    """Return versions that a device's fingerprint leaves out, but may explain a regression."""
    versions: dict[str, Json] = {"graph_net": __version__, "kernel": platform.release()}
    versions["libc"] = " ".join(platform.libc_ver())
    with suppress(OSError):
        text = Path("/proc/driver/nvidia/version").read_text("utf-8")
        versions["driver"] = text.partition("\n")[0].removeprefix("NVRM version:").strip()
    return versions


class GoldenStore:
    """A directory of golden runs."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def names(self) -> list[str]:
        """List the complete sets."""
        return sorted(file.stem for file in self.path.glob("*.json"))

    def require(self) -> GoldenStore:
        """Return this store; raise GoldenError if it is empty."""
        if not self.names():
            raise GoldenError(
                f"{self.path} holds no golden run; make one with `graph-net reference`"
            )
        return self

    def writing(self, task: Measurement) -> Golden:
        """Return where a worker writes the outputs of a task."""
        return Golden(str((self.path / _ASIDE / f"{name_of(task)}.safetensors").absolute()))

    def comparing(self, name: str) -> Golden:
        """Return the file that a worker compares its outputs with."""
        return Golden(str(self._file(name, "safetensors").absolute()), compare=True)

    def clear(self) -> None:
        """Remove outputs whose measurement was killed."""
        for left in (self.path / _ASIDE).glob("*"):
            left.unlink(missing_ok=True)

    def add(self, task: Measurement, record: Record, asked: Mapping[str, Json]) -> Record:
        """Store the record of a task, safe from a kill, and return it."""
        name, aside = name_of(task), Path(self.writing(task).path)
        record = _with_outputs(record, aside)
        self._file(name, "json").unlink(missing_ok=True)  # its set is replaced now
        if record.failure is None:
            move(aside, self._file(name, "safetensors"))
        else:
            for left in (aside, self._file(name, "safetensors")):
                left.unlink(missing_ok=True)
        write_bytes(self._file(name, "graph"), task.graph)
        graph = sha256(task.graph).hexdigest()
        run = GoldenRun(record, task.protocol, graph, describe_machine(), asked)
        tree = asdict(run)
        sealed: Json = {"sha256": sha256(canonical(tree).encode()).hexdigest(), "run": tree}
        write_bytes(self._file(name, "json"), canonical(sealed).encode())
        return record

    def read(self, name: str) -> GoldenRun:
        """Return the run of one graph; raise GoldenError if the file is damaged."""
        path = self._file(name, "json")
        try:
            run = read_as(GoldenRun, _unseal(_read_limited(path, LARGEST_JSON)), "golden run")
        except RecordError as error:
            raise GoldenError(f"{path.name} is damaged: {error}") from error
        if run.format != FORMAT:
            raise GoldenError(f"{path.name} has format {run.format}; this version reads {FORMAT}")
        return run

    def graph(self, name: str, run: GoldenRun) -> bytes:
        """Return the graph of a run; raise GoldenError if it or the outputs are damaged."""
        path = self._file(name, "graph")
        data = _read_limited(path, DEFAULT_LIMITS.bytes)
        if sha256(data).hexdigest() != run.graph:
            raise GoldenError(f"{path.name} is damaged: its hash does not match")
        outputs = self._file(name, "safetensors")
        if run.usable:
            try:
                actual = hash_of(outputs)
            except OSError as error:
                raise GoldenError(f"{outputs.name} cannot be read: {error.strerror}") from error
            if actual != run.outputs_hash:
                raise GoldenError(f"{outputs.name} is damaged: its hash does not match")
        return data

    def runs(self) -> Iterator[tuple[str, GoldenRun]]:
        """Yield every run by name, except damaged ones."""
        for name in self.names():
            try:
                yield name, self.read(name)
            except GoldenError:
                continue

    def _file(self, name: str, suffix: str) -> Path:
        return self.path / f"{name}.{suffix}"


def name_of(task: Measurement) -> str:
    """Return the name of a task's files."""
    return golden_name(task.subject.id, task.config)


def golden_name(graph_id: str, config: Config) -> str:
    """Return a name that is equal for equal graphs and configurations of any version."""
    return digest(graph_id, config.kind, config.name, config.options_text)


def _with_outputs(record: Record, outputs: Path) -> Record:
    """Return the record; as a failure if it claims success but left no outputs."""
    if record.failure is not None or outputs.is_file():
        return record
    why = "its worker left no file of outputs"
    return replace(record, failure=Failure(Stage.VERIFY, Symptom.EXCEPTION, why, why))


def _unseal(data: bytes) -> str:
    """Return the text of sealed JSON; raise RecordError unless its hash matches."""
    try:
        tree = json.loads(data)
        text = canonical(tree["run"])
        whole = sha256(text.encode()).hexdigest() == tree["sha256"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise RecordError(f"not sealed JSON: {error}") from error
    if not whole:
        raise RecordError("its hash does not match")
    return text


def _read_limited(path: Path, most: int) -> bytes:
    try:
        return read_bytes(path, most)
    except OSError as error:
        raise GoldenError(f"{path.name} cannot be read: {error.strerror}") from error
    except TooLarge as error:
        raise GoldenError(str(error)) from error
