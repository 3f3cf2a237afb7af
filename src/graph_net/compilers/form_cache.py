"""A cache of converted graphs across measurements: ONNX files, by content.

Writing a graph as ONNX takes seconds, loading the file a tenth of one, and the same file serves
every option, thread count and run. An entry is one line of JSON (the digest of what follows, and
what it cost to make) and the bytes; one that does not match its digest is made again. Nothing here
is ever unpickled, which is why an ExportedProgram is not cached.
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
from operator import itemgetter
from pathlib import Path

from graph_net.compilers.compiler import Job
from graph_net.store.atomic import caching
from graph_net.store.files import read_bytes

LIMIT = 2 << 30
"""The most bytes of all entries together; the least recently used go first."""
LONGEST = 1e6
"""The most seconds an entry may claim to have cost; they are added to compile times."""
OUTBOX = "forms"
"""The folder of a work directory in which a worker leaves new entries."""


@dataclass
class FormCache:
    """A directory of forms; ``spared`` and ``spared_cpu`` are the seconds its entries once cost.

    Code that reports compile time adds them: a graph is no cheaper to compile because it was
    measured before.
    """

    root: Path
    outbox: Path
    """Where new entries go; ``take_forms`` moves them into the root."""
    clock: Callable[[], float] = time.monotonic
    spared: float = 0.0
    spared_cpu: float = 0.0
    used: list[str] = field(default_factory=list)

    def fetch(self, name: str, path: Path) -> bool:
        """Put an entry at ``path``; return whether there was a valid one."""
        entry = self.root / name
        try:
            head, _, data = read_bytes(entry).partition(b"\n")
            header = json.loads(head)
            sound = header["sha256"] == hashlib.sha256(data).hexdigest()
            seconds, cpu = float(header["seconds"]), float(header["cpu_seconds"])
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
        """Store a form that was made; a full disk must not fail a measurement."""
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        header = {"sha256": digest, "seconds": seconds, "cpu_seconds": cpu}
        with suppress(OSError):
            self.outbox.mkdir(parents=True, exist_ok=True)
            with caching(self.outbox / name) as aside:
                aside.write_bytes(json.dumps(header).encode() + b"\n" + data)


def take_forms(outbox: Path, root: Path, graph: bytes, device: str, limit: int = LIMIT) -> None:
    """Move the entries that a worker made of its own graph into the shared directory.

    A worker writes nothing there itself: it could plant a form for another graph.
    """
    key = form_key(graph, device)
    with suppress(OSError):
        for entry in root.glob(f"{key}-*"):
            os.utime(entry)  # used now
        entries = sorted(outbox.glob(f"{key}-*"))
        for entry in entries:
            if entry.lstat().st_size <= limit:
                take_file(entry, root / entry.name)
        if entries:
            _shrink(root, limit)


def take_file(source: Path, target: Path) -> None:
    """Move a file that a worker left behind, if it is a regular file and not a link."""
    try:
        if not stat.S_ISREG(source.lstat().st_mode):
            return
    except OSError:  # no such file
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with caching(target) as aside:
        shutil.move(source, aside)


def form_key(graph: bytes, device: str) -> str:
    """Return the prefix of the names of a graph's forms, for a torch version and device kind."""
    key = hashlib.sha256(graph)
    key.update(f"{version('torch')} {device.partition(':')[0]}".encode())
    return key.hexdigest()[:20]


def _shrink(root: Path, limit: int) -> None:
    entries = []
    for entry in root.iterdir():
        with suppress(FileNotFoundError):  # another run shrinks too
            status = entry.stat()
            entries.append((status.st_mtime, status.st_size, entry))
    total = sum(size for _, size, _ in entries)
    for _, size, entry in sorted(entries, key=itemgetter(0)):
        if total <= limit:
            return
        entry.unlink(missing_ok=True)
        total -= size


def get_or_make(
    job: Job, path: Path, packages: Sequence[str], make: Callable[[Path], None]
) -> Path:
    """Return ``path`` in the job's directory, made unless it exists or is in the cache.

    ``packages`` are those that convert: an entry is valid for their versions only.
    """
    if path.exists():
        return path
    versions = hashlib.sha256(" ".join(map(_version, packages)).encode()).hexdigest()[:8]
    name = f"{path.name.partition('.')[0]}-{versions}.{path.name.partition('.')[2]}"
    if job.forms is not None and job.forms.fetch(name, path):
        return path
    clock = time.monotonic if job.forms is None else job.forms.clock
    start, cpu_start = clock(), time.process_time()
    with caching(path) as aside:
        make(aside)
    if job.forms is not None:
        job.forms.store(name, path, clock() - start, time.process_time() - cpu_start)
    return path


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package
