"""Lane: processes that each do one piece of work at a time and may hang or die at it.

A piece that takes too long is ended with its process, one that kills its process is told apart from
one that fails, and either costs that piece alone: the next one gets a new process.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from graph_net.isolate import Sandbox, confine
from graph_net.isolate.descriptors import keep_only

MOST_BYTES = 1 << 24
"""Of a result."""
Item = TypeVar("Item")
Handle = Callable[[Any], Any]
Make = Callable[[], Handle]
"""Called once in each process; what it returns is called with every piece of work."""


@dataclass(frozen=True)
class Ended(Generic[Item]):
    """What came of a piece of work: its result, a time-out, or the signal (or 0) it died of."""

    item: Item
    result: Any = None
    timeout: bool = False
    died: int | None = None
    message: str = ""


@dataclass
class _Worker(Generic[Item]):
    process: Any
    connection: Connection
    item: Item | None = None
    deadline: float = 0.0
    fresh: bool = True


@dataclass
class Lane(Generic[Item]):
    """So many processes that do what ``make`` makes, within ``seconds`` a piece."""

    make: Make
    size: int
    seconds: float
    starting: float = 60.0
    """Seconds that a process's first piece of work may take in addition."""
    sandbox: Sandbox | None = None
    """What confines its processes; None where who made the lane is confined already."""
    _workers: list[_Worker[Item]] = field(default_factory=list)

    @property
    def busy(self) -> int:
        """How many pieces are being worked on."""
        return sum(worker.item is not None for worker in self._workers)

    @property
    def free(self) -> bool:
        """Whether another piece can be given."""
        return self.busy < self.size

    def give(self, item: Item) -> None:
        """Begin a piece of work; only where one is free."""
        worker = next((w for w in self._workers if w.item is None), None) or self._start()
        worker.item = item
        worker.deadline = time.monotonic() + self.seconds + self.starting * worker.fresh
        worker.fresh = False
        try:
            worker.connection.send(item)
        except OSError:  # it died while it had nothing to do; seen as its end when asked
            return

    def connections(self) -> list[Connection]:
        """What to wait for."""
        return [worker.connection for worker in self._workers if worker.item is not None]

    def ended(self) -> Iterator[Ended[Item]]:
        """The pieces that have ended since, without waiting."""
        ready = set(wait(self.connections(), timeout=0))
        for worker in [w for w in self._workers if w.item is not None]:
            item = worker.item
            assert item is not None
            if worker.connection in ready:
                yield self._received(worker, item)
            elif time.monotonic() > worker.deadline:
                self._stop(worker)
                yield Ended(item, timeout=True)

    def _received(self, worker: _Worker[Item], item: Item) -> Ended[Item]:
        try:
            good, result, last = json.loads(worker.connection.recv_bytes(MOST_BYTES))
        except (EOFError, OSError, ValueError):
            worker.process.join(5)
            code = worker.process.exitcode
            self._stop(worker)
            return Ended(item, died=-code if code is not None and code < 0 else 0)
        worker.item = None
        if last:
            self._stop(worker)
        return Ended(item, result) if good else Ended(item, died=0, message=result)

    def stop(self) -> None:
        """End all processes, whatever they are doing."""
        for worker in list(self._workers):
            self._stop(worker)

    def _start(self) -> _Worker[Item]:
        fork = multiprocessing.get_context("fork")
        ours, theirs = fork.Pipe()
        process = fork.Process(target=_serve, args=(self.make, theirs, self.sandbox), daemon=True)
        process.start()
        theirs.close()
        worker: _Worker[Item] = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _stop(self, worker: _Worker[Item]) -> None:
        self._workers.remove(worker)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.kill()
        worker.process.join(10)
        worker.connection.close()


class LastWork(Exception):
    """Raised by a handler whose process is of no more use; its argument is the result."""


def _serve(make: Make, connection: Connection, sandbox: Sandbox | None) -> None:
    """A process's life: results until the other side is gone.

    Results go back as JSON: the parent unpickles nothing that a worker says.
    """

    def tell(good: bool, result: Any, last: bool) -> None:
        connection.send_bytes(json.dumps([good, result, last], default=asdict).encode())

    os.setpgid(0, 0)  # so that what it starts ends with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_only({connection.fileno(), 1, 2})
    try:
        if sandbox is not None:
            confine(sandbox)
        handle = make()
        while True:
            item = connection.recv()
            try:
                tell(True, handle(item), False)
            except LastWork as last:
                tell(True, last.args[0], True)
                break
    except EOFError:
        pass
    except Exception as error:  # a process that cannot start must say why
        tell(False, f"{type(error).__name__}: {error}"[:300], True)
    finally:
        os._exit(0)
