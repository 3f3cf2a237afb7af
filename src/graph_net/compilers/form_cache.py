"""Converted forms kept across measurements: ONNX files and StableHLO texts, by what they are of.

Writing a graph as ONNX takes seconds where loading the file takes a tenth of one, and the same
file serves every option, thread count and run. An entry is one line of JSON (the digest of what
follows, and what it cost to make) and the bytes; one that does not fit its digest is made again.
Nothing kept here is ever unpickled, which is why an ExportedProgram is not.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from graph_net.compilers.compiler import Job
from graph_net.store.atomic import caching
from graph_net.store.files import read_bytes

LIMIT = 2 << 30
"""Bytes that all entries take together at most; those not used for longest go first."""
LONGEST = 1e6
"""Seconds that making an entry may have taken; they are added to what others are charged."""
OUTBOX = "forms"
"""The folder of a work directory in which a worker leaves new entries."""


@dataclass
class KeptForms:
    """A directory of forms; ``spared`` and ``spared_cpu`` are seconds that its entries once took.

    Whoever reports compile time adds them: a graph is no cheaper to compile for having been
    measured before.
    """

    root: Path
    outbox: Path
    """Where new entries go; ``take_forms`` brings them into the root."""
    clock: Callable[[], float] = time.monotonic
    spared: float = 0.0
    spared_cpu: float = 0.0
    used: list[str] = field(default_factory=list)

    def fetch(self, name: str, path: Path) -> bool:
        """Put an entry at ``path``; whether there was a sound one."""
        entry = self.root / name
        try:
            head, _, data = read_bytes(entry).partition(b"\n")
            told = json.loads(head)
            sound = told["sha256"] == hashlib.sha256(data).hexdigest()
            seconds, cpu = float(told["seconds"]), float(told["cpu_seconds"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return False
        if not (sound and 0 <= seconds <= LONGEST and 0 <= cpu <= LONGEST):
            return False
        with caching(path) as aside:
            aside.write_bytes(data)
        self.spared, self.spared_cpu = self.spared + seconds, self.spared_cpu + cpu
        self.used.append(name.partition(".")[2])
        return True

    def store(self, name: str, path: Path, seconds: float, cpu: float) -> None:
        """Keep what was made; a full disk is no reason to fail a measurement."""
        data = path.read_bytes()
        told = {"sha256": hashlib.sha256(data).hexdigest(), "seconds": seconds, "cpu_seconds": cpu}
        with suppress(OSError):
            self.outbox.mkdir(parents=True, exist_ok=True)
            with caching(self.outbox / name) as aside:
                aside.write_bytes(json.dumps(told).encode() + b"\n" + data)


def take_forms(outbox: Path, root: Path, graph: bytes, device: str, limit: int = LIMIT) -> None:
    """Bring the entries that a worker made of its own graph into the directory of all.

    A worker writes nothing there itself: it could give another graph a form of its choice.
    """
    key = form_key(graph, device)
    with suppress(OSError):
        for entry in root.glob(f"{key}-*"):
            os.utime(entry)  # used now
        own = sorted(outbox.glob(f"{key}-*"))
        for entry in own:
            if entry.lstat().st_size <= limit:
                take(entry, root / entry.name)
        if own:
            _shrink(root, limit)


def take(source: Path, target: Path) -> None:
    """Move a file that a worker left behind, if it is a file and not a way to another."""
    try:
        if not stat.S_ISREG(source.lstat().st_mode):
            return
    except OSError:  # it left none
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with caching(target) as aside:
        shutil.move(source, aside)


def form_key(graph: bytes, device: str) -> str:
    """What the names of a graph's forms begin with: torch converts, for one kind of device."""
    key = hashlib.sha256(graph)
    key.update(f"{version('torch')} {device.partition(':')[0]}".encode())
    return key.hexdigest()[:20]


def _shrink(root: Path, limit: int) -> None:
    found = []
    for entry in root.iterdir():
        with suppress(FileNotFoundError):  # another run shrinks too
            about = entry.stat()
            found.append((about.st_mtime, about.st_size, entry))
    total = sum(size for _, size, _ in found)
    for _, size, entry in sorted(found, key=lambda known: known[0]):
        if total <= limit:
            return
        entry.unlink(missing_ok=True)
        total -= size


def get_or_make(
    job: Job, path: Path, packages: Sequence[str], make: Callable[[Path], None]
) -> Path:
    """``path`` in the job's directory, made there only where no measurement has made it before.

    ``packages`` are what converts: another version of one makes another entry.
    """
    if path.exists():
        return path
    versions = hashlib.sha256(" ".join(map(_version, packages)).encode()).hexdigest()[:8]
    name = f"{path.name.partition('.')[0]}-{versions}.{path.name.partition('.')[2]}"
    if job.forms is not None and job.forms.fetch(name, path):
        return path
    clock = time.monotonic if job.forms is None else job.forms.clock
    began, busy = clock(), time.process_time()
    with caching(path) as aside:
        make(aside)
    if job.forms is not None:
        job.forms.store(name, path, clock() - began, time.process_time() - busy)
    return path


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package
