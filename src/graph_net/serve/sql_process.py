"""A process that answers SQL queries, and can be killed.

DuckDB's own memory limit does not cover every function (``range(3000000000)`` as a list), and
functions may ignore interrupts. So a query runs in a confined process: it can read the served
directories, write nothing, open no socket, and has a limit on its address space. The server reads
its answers and kills it when time is up.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.isolate import Needs, Sandbox, confine
from graph_net.isolate.limits import address_space, lower
from graph_net.isolate.messages import encode

if TYPE_CHECKING:
    import pyarrow as pa

    from graph_net.serve.tables import TableSet

MEMORY = "1GiB"
"""DuckDB's own limit; the limit on the address space is the reliable one."""
BATCH = 1_000
ALARM = 10
"""Seconds beyond its limit after which a query ends its process, in case the server is gone."""
TICK = 0.05
"""Seconds between two interrupts of an overdue query."""


def main() -> None:
    """Confine this process, then answer queries from standard input until it ends."""
    begin = json.loads(sys.stdin.buffer.readline())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reads = tuple(map(Path, begin["reads"]))
    confine(Sandbox(Path(begin["workdir"]), Needs(reads=reads)))
    answers = os.dup(1)
    os.dup2(2, 1)  # library output must not become an answer
    from graph_net.serve.tables import TableSet
    from graph_net.store import sql as _  # noqa: F401 - loaded before the first question

    lower(resource.RLIMIT_AS, address_space() + begin["memory"])
    tables = TableSet()
    _write(answers, encode({"ready": True}))
    for line in sys.stdin.buffer:  # ends with the server, however that ends
        question = json.loads(line)
        signal.alarm(int(question["seconds"]) + ALARM)
        _write(answers, _answer(tables, question))
        signal.alarm(0)


def _answer(tables: TableSet, question: dict[str, Any]) -> bytes:
    from graph_net.store.sql import SqlError

    began = time.monotonic()
    try:
        table, more = ask(tables, question)
    except (SqlError, ValueError, OSError, MemoryError) as error:
        return encode({"error": str(error) or type(error).__name__})
    return encode({"more": more, "seconds": time.monotonic() - began}, _to_bytes(table))


def ask(tables: TableSet, question: dict[str, Any]) -> tuple[pa.Table, bool]:
    """Return the first rows of a result, and whether there are more; raise SqlError."""
    from graph_net.store.sql import Sql

    with Sql(memory=MEMORY, threads=1) as sql:
        tables.create(sql, question["query"], question["places"])
        with _in_time(sql, question["seconds"]):
            return sql.select(question["query"], question["parameters"], question["rows"], BATCH)


@contextmanager
def _in_time(sql: Any, seconds: float) -> Iterator[None]:
    """Interrupt a query that takes longer than ``seconds``."""
    done = threading.Event()

    def watch() -> None:
        if not done.wait(seconds):
            while not done.wait(TICK):
                sql.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _to_bytes(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


if __name__ == "__main__":
    main()
