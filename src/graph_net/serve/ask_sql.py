"""SQL queries, answered by a separate process within limits of time, rows and memory."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import graph_net
from graph_net.isolate.deaths import Ending, death_of_started, oom_kills, took_longer
from graph_net.isolate.messages import BadMessage, Inbox
from graph_net.serve.holdings import Holdings
from graph_net.serve.tables import places
from graph_net.store.sql import SqlError

GRACE = 1.0
"""Seconds that an interrupted query has to end by itself."""
STARTING = 300.0
MEMORY = 6 << 30
"""Bytes of address space beyond those at process start."""
MOST_ANSWER = 512 << 20


@dataclass(frozen=True)
class SqlLimits:
    """Limits of one query."""

    rows: int = 1_000
    seconds: float = 5.0


@dataclass(frozen=True)
class Answer:
    """The first rows of a result, whether there are more, and the seconds it took."""

    table: pa.Table
    more: bool
    seconds: float


@dataclass
class SqlProcess:
    """A process that answers one query at a time; a process that dies is replaced."""

    reads: Sequence[Path]
    _child: subprocess.Popen[bytes] | None = None
    _oom_kills: int = 0
    """The kernel's count when the process was started."""
    _inbox: Inbox = field(default_factory=Inbox)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _workdir: Any = None

    def ask(
        self,
        holdings: Holdings,
        query: str,
        parameters: Sequence[Any] = (),
        limits: SqlLimits = SqlLimits(),  # noqa: B008 - frozen
    ) -> Answer:
        """Return the answer to a query; raise SqlError if there is none within the limits."""
        question = {
            "query": query, "parameters": list(parameters), "rows": limits.rows,
            "seconds": limits.seconds, "places": places(holdings),
        }  # fmt: skip
        with self._lock:
            child = self._started()
            assert child.stdin is not None
            try:
                child.stdin.write(json.dumps(question).encode() + b"\n")
                child.stdin.flush()
                tree, blob = self._receive(limits.seconds + GRACE)
            except (OSError, EOFError, BadMessage, TimeoutError) as error:
                reason = self._reason(error, limits)
                self._kill()
                raise SqlError(reason) from error
        if "error" in tree:
            said = str(tree["error"])
            raise SqlError(_too_long(limits) if "Interrupted" in said else said)
        with pa.ipc.open_stream(blob) as reader:
            return Answer(reader.read_all(), bool(tree["more"]), float(tree["seconds"]))

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._kill()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is None:
            return self._child
        self._kill()
        self._workdir = tempfile.TemporaryDirectory(prefix="graph-net-")
        home = str(Path(graph_net.__file__).parents[1])
        environment = {**os.environ, "PYTHONPATH": home, "OMP_NUM_THREADS": "1"}
        self._oom_kills = oom_kills()
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", "graph_net.serve.sql_process"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
        )  # fmt: skip
        begin = {
            "reads": [home, *map(str, self.reads)], "workdir": self._workdir.name,
            "memory": MEMORY,
        }  # fmt: skip
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(begin).encode() + b"\n")
        self._child.stdin.flush()
        self._inbox = Inbox(most_blob=MOST_ANSWER)
        try:
            self._receive(STARTING)
        except (OSError, EOFError, BadMessage, TimeoutError) as error:
            self._kill()
            raise SqlError("the process that answers SQL did not start") from error
        return self._child

    def _receive(self, seconds: float) -> tuple[dict[str, Any], bytes]:
        """Return the next message; raise TimeoutError or EOFError if none comes."""
        assert self._child is not None
        assert self._child.stdout is not None
        descriptor, end = self._child.stdout.fileno(), time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError
            data = os.read(descriptor, 1 << 20)
            if not data:
                raise EOFError
            for message in self._inbox.feed(data):
                return message

    def _reason(self, error: Exception, limits: SqlLimits) -> str:
        """Return why there is no answer, after reading or writing raised ``error``."""
        if isinstance(error, TimeoutError):
            return _too_long(limits)
        if isinstance(error, BadMessage):
            return "the answer is too large; ask for fewer rows or columns"
        assert self._child is not None
        death = death_of_started(self._child, self._oom_kills)
        reason = f"the process that answers SQL ended: {death}"
        if death.ending is Ending.CRASH:  # how libraries end when an allocation fails
            reason += f"; if it needs more than {MEMORY >> 30} GiB of memory, ask for less"
        return reason

    def _kill(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()
        if self._workdir is not None:
            self._workdir.cleanup()
            self._workdir = None


def _too_long(limits: SqlLimits) -> str:
    return f"the question {took_longer(limits.seconds)}; ask for less, or use graph-net query"
