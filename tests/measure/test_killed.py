"""Workers, lanes and the asking process are killed at random moments; the records stay right."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from graph_net.corpus.pack import PackWriter
from graph_net.results import Record
from graph_net.store.lock import InUse
from graph_net.store.record_journal import read_journal
from graph_net.store.records import RecordStore
from measure.asking import small_graph

GRAPHS = 24
VICTIMS = ["worker"] * 44 + ["server"] * 4 + ["parent"] * 2
RANDOM = random.Random(0)  # noqa: S311 - moments, not secrets


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pack")
    with PackWriter(path) as writer:
        for size in range(1, GRAPHS + 1):
            writer.add(f"small{size}", small_graph(size))
    return path


def bench(pack: Path, records: Path) -> subprocess.Popen[bytes]:
    words = ["bench", str(pack), "--compilers", "eager", "-o", str(records), "-j", "2"]
    words += ["--seconds", "0.05", "--threads", "1"]
    return subprocess.Popen(
        [sys.executable, "-m", "graph_net.cli.main", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def victim(run: subprocess.Popen[bytes], who: str) -> int | None:
    """The process to kill, as soon as there is one; None where the run ended before.

    It is the asking process, the one that holds the lanes, or a worker.
    """
    while run.poll() is None:
        servers = children(run.pid)
        workers = children(servers[0]) if servers else []
        found = {"parent": [run.pid], "server": servers, "worker": workers}[who]
        if servers and found:
            return RANDOM.choice(found)
        time.sleep(0.01)
    return None


def raw(store: RecordStore) -> list[Record]:
    """Every record ever written, repeats included."""
    import pyarrow.parquet as pq

    from graph_net.store.record_columns import record_of

    rows = [row for part in store.parts() for row in pq.read_table(part).to_pylist()]
    found = [record_of(row) for row in rows]
    return found + [record for path in store.journals() for record in read_journal(path)]


def test_nothing_finished_is_lost_or_measured_twice(pack: Path, tmp_path: Path) -> None:
    store = RecordStore(tmp_path / "records")
    finished: dict[str, str] = {}
    left = RANDOM.sample(VICTIMS, len(VICTIMS))
    run = bench(pack, store.path)
    try:
        while left:
            target = victim(run, left[-1])
            # Anywhere within the life of a worker, or of lanes that start.
            time.sleep(RANDOM.uniform(0.0, 0.3 if left[-1] == "worker" else 2.0))
            if target is None or run.poll() is not None:
                # All measured before the kills were done: forget it all and go on.
                for path in (*store.parts(), *store.journals()):
                    path.unlink()
                finished.clear()
                run = bench(pack, store.path)
            elif killed(target) and left.pop() == "parent":
                run.wait()
                finished = still_there(store, finished)
                run = bench(pack, store.path)
        run.wait()
        finished = still_there(store, finished)
        while len(still_there(store, finished)) < GRAPHS:  # a kill is no outcome
            bench(pack, store.path).wait()
    finally:
        run.kill()
        run.wait()
    finished = still_there(store, finished)
    final = Counter(record.key for record in raw(store) if record.final)
    assert len(final) == GRAPHS
    assert set(final.values()) == {1}
    assert all(record.failure is None for record in store.records())


def killed(pid: int) -> bool:
    """Kill a process; whether it was still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def still_there(store: RecordStore, finished: dict[str, str]) -> dict[str, str]:
    """What is finished now; everything that was before must be among it, unchanged."""
    now = {record.key: record.started for record in raw(store) if record.final}
    assert finished.items() <= now.items()
    return now


def test_a_journal_that_was_cut_short_is_read_to_the_cut(tmp_path: Path) -> None:
    from measure.asking import measured, task

    (record,) = measured([task("eager")])
    store = RecordStore(tmp_path)
    with store.journal() as journal:
        journal.add(record)
        journal.add(record)
    whole = journal.path.read_bytes()
    for cut in (1, 100, len(whole) // 2 - 1):
        journal.path.write_bytes(whole[: len(whole) // 2 + cut])
        assert len(list(read_journal(journal.path))) == 1


def test_a_second_run_on_the_same_records_is_told(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    with (
        store.locked(),
        pytest.raises(InUse, match="in use"),
        RecordStore(tmp_path).locked(),
    ):
        pass
