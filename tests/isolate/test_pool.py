"""Work on many items in forked processes: what crashes or hangs loses itself alone."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graph_net.isolate import Batch, Ending, Finished, Limits, Needs, Pool, Sandbox, call
from graph_net.isolate.descendants import children_of, state_of
from graph_net.isolate.sandbox import SWITCH
from graph_net.isolate.worker import Retire

LIMITS = Limits(60, 4 << 30)
POOL = Pool(LIMITS, 2)


def crash(item: object = None) -> None:
    faulthandler.disable()  # pytest's, which would tell of it
    os.kill(os.getpid(), signal.SIGSEGV)


def work(item: str) -> Any:
    if item == "crash":
        crash()
    if item == "hang":
        time.sleep(600)
    if item == "error":
        raise ValueError("no good")
    if item == "memory":
        return bytes(1 << 40)
    return item.upper() * 1000


def by_item(found: Iterator[Finished[str]]) -> dict[str, Finished[str]]:
    return {one.item: one for one in found}


def reasons(found: Iterator[Finished[str]]) -> dict[str, str]:
    return {one.item: str(one.death) for one in found if one.death is not None}


def batch(*items: str, prepare: Callable[[], Any] = lambda: work) -> Batch[str]:
    return Batch(prepare, items)


BAD = {
    "crash": "died of SIGSEGV",
    "hang": "took more than 1 s",
    "error": "ValueError: no good",
    "memory": "held more than the limit of 4.0 GiB (MemoryError)",
}


@pytest.mark.parametrize("together", [False, True])
def test_what_goes_wrong_loses_itself_alone(together: bool) -> None:
    items = ("a", *BAD, "b")
    pool = Pool(Limits(1, 4 << 30), 2)
    found = list(pool.batches([batch(*items)]) if together else pool.each(items, work))
    assert sorted(one.item for one in found) == sorted(items)
    assert reasons(iter(found)) == BAD
    assert {one.item: one.answer for one in found if one.death is None} == {
        "a": "A" * 1000,
        "b": "B" * 1000,
    }


def test_items_that_waited_behind_a_dead_worker_are_given_to_another() -> None:
    found = by_item(Pool(LIMITS).batches([batch("a", "crash", "b", "c"), batch(), batch("d")]))
    assert {item for item, one in found.items() if one.death is None} == {"a", "b", "c", "d"}


def test_the_rest_of_a_batch_goes_to_another_worker_where_one_retires() -> None:
    def retires(item: str) -> int:
        if item == "a":
            raise Retire(os.getpid())
        return os.getpid()

    found = by_item(Pool(LIMITS).batches([batch("a", "b", prepare=lambda: retires)]))
    assert found["a"].death is found["b"].death is None
    assert found["a"].answer != found["b"].answer


def test_a_preparation_that_fails_loses_its_batch() -> None:
    def prepare() -> Any:
        raise RuntimeError("no module")

    found = by_item(POOL.batches([batch("a", "b", prepare=prepare), batch("c")]))
    assert {str(found[item].death) for item in "ab"} == {"RuntimeError: no module"}
    assert found["c"].death is None


def test_a_preparation_that_crashes_loses_its_batch() -> None:
    found = by_item(POOL.batches([batch("a", "b", prepare=crash), batch("c")]))
    assert {str(found[item].death) for item in "ab"} == {"died of SIGSEGV"}
    assert found["c"].death is None


def test_what_was_said_before_a_death_is_kept() -> None:
    def says(item: str) -> Iterator[Any]:
        yield {"first": item}
        yield b"\0\xff"
        crash()

    (found,) = POOL.each(["a"], says)
    assert found.answers == ({"first": "a"}, b"\0\xff")
    assert str(found.death) == "died of SIGSEGV"


def test_every_worker_has_a_directory_of_its_own_that_is_gone_afterwards() -> None:
    def leaves_a_file(item: str) -> Any:
        (Path(os.environ["HOME"]) / item).write_text(item)
        return [os.environ["HOME"], os.listdir(os.environ["HOME"])]

    found = [one.answer for one in POOL.each("abc", leaves_a_file)]
    assert sorted(names for _, names in found) == [["a"], ["b"], ["c"]]
    assert len({home for home, _ in found}) == 3
    assert not any(Path(home).exists() for home, _ in found)


def test_a_worker_reaches_what_its_item_needs_and_no_more(tmp_path: Path) -> None:
    files = [tmp_path / "mine", tmp_path / "theirs"]
    for file in files:
        file.write_text(file.name)
    pool, one = Pool(LIMITS), files[0]
    found = pool.each(files, lambda file: file.read_text(), lambda _: Needs(reads=(one,)))
    assert {f.item.name: f.answer or f.death for f in found}["mine"] == "mine"
    (other,) = pool.each(files[1:], lambda file: file.read_text(), lambda _: Needs(reads=(one,)))
    assert "PermissionError" in str(other.death)


def test_a_worker_killed_from_outside_is_not_said_to_be_out_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SWITCH, "off")  # confined, it could not send itself this
    (found,) = POOL.each(["a"], lambda _: os.kill(os.getpid(), signal.SIGKILL))
    assert found.death is not None
    assert found.death.ending is Ending.KILLED
    assert found.death.reason == "killed by a signal from outside (SIGKILL)"


def test_the_kernels_memory_killer_is_named_where_it_has_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = iter(range(9))
    monkeypatch.setenv(SWITCH, "off")
    monkeypatch.setattr("graph_net.isolate.worker.oom_kills", lambda: next(counts))
    monkeypatch.setattr("graph_net.isolate.deaths.oom_kills", lambda: next(counts))
    (found,) = POOL.each(["a"], lambda _: os.kill(os.getpid(), signal.SIGKILL))
    assert found.death is not None
    assert (found.death.ending, found.death.reason) == (
        Ending.OUT_OF_MEMORY,
        "the machine ran out of memory",
    )


def test_answers_without_end_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph_net.isolate.worker.MOST_ANSWER", 1 << 20)

    def never_stops(item: str) -> Iterator[bytes]:
        while True:
            yield bytes(1000)

    (found,) = POOL.each(["a"], never_stops)
    assert str(found.death) == "gave an answer of more than 1048576 bytes"


def test_a_worker_waits_for_who_reads_and_its_time_does_not_run() -> None:
    def says_much(item: str) -> Iterator[bytes]:
        for _ in range(8):
            yield bytes(1 << 20)

    before = set(children_of(os.getpid()))
    asked = Pool(Limits(6, 4 << 30)).batches([batch("a", "b", prepare=lambda: says_much)])
    first = next(asked)
    (worker,) = set(children_of(os.getpid())) - before
    while state_of(worker) != "S":  # it is at its full pipe
        time.sleep(0.01)
    time.sleep(6.5)  # longer than its limit, which a busy machine needs a tenth of
    second = next(asked)
    assert [len(one.answers) for one in (first, second)] == [8, 8]
    assert first.death is second.death is None


def test_leaving_early_leaves_no_process_and_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = set(children_of(os.getpid()))
    asked = Pool(LIMITS).batches([batch("a", "hang")])
    next(asked)
    assert set(children_of(os.getpid())) > before
    asked.close()  # type: ignore[attr-defined]
    assert set(children_of(os.getpid())) == before
    assert list(tmp_path.iterdir()) == []


def orphan() -> int:
    """Leave a process behind whose parent, of another session, is gone."""
    reads, writes = os.pipe()
    if os.fork() == 0:
        os.setsid()
        child = os.fork()
        if child == 0:
            time.sleep(600)
        os.write(writes, str(child).encode())
        os._exit(0)
    return int(os.read(reads, 32))


@pytest.mark.parametrize("crashes", [False, True])
def test_what_a_worker_left_behind_is_gone(crashes: bool) -> None:
    def leaves(item: str) -> Iterator[int]:
        yield orphan()
        if crashes:
            crash()

    (found,) = POOL.each(["a"], leaves)
    assert (found.death is not None) is crashes
    assert state_of(found.answer) in "XZ"


def test_a_call_made_meanwhile_leaves_the_workers_alone() -> None:
    def slow(item: str) -> str:
        if item == "b":
            time.sleep(0.5)
        return item

    asked = POOL.each("ab", slow)
    first = next(asked)
    assert call(lambda: 7, LIMITS) == 7
    assert [first.answer, *(one.answer for one in asked)] == ["a", "b"]


def test_an_interrupt_ends_the_run_and_loses_nothing() -> None:
    ready, tells = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        seen: list[Finished[str]] = []
        code = 1
        try:
            for one in Pool(LIMITS).batches([batch("a", "hang")]):
                seen.append(one)
                os.write(tells, b"a")
        except KeyboardInterrupt:
            code = 2 if any(one.death for one in seen) or children_of(os.getpid()) else 0
        finally:
            os._exit(code)
    os.read(ready, 1)
    os.killpg(child, signal.SIGINT)  # as a terminal does
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_workers_die_with_who_asked(tmp_path: Path) -> None:
    program = (
        "import os, time; from graph_net.isolate import Limits, Pool, Sandbox;"
        "from pathlib import Path;"
        f"place = Path({str(tmp_path)!r});"
        "pool = Pool(Limits(600, None), 2, Sandbox(place));"
        "list(pool.each('ab', lambda n: ((place / n).write_text('x'), time.sleep(600))))"
    )
    asking = subprocess.Popen([sys.executable, "-c", program])
    try:
        while not all((tmp_path / name).exists() for name in "ab"):
            assert asking.poll() is None
            time.sleep(0.01)
        workers = children_of(asking.pid)
        assert len(workers) == 2
    finally:
        asking.kill()
        asking.wait()
    while any(state_of(worker) not in "XZ" for worker in workers):
        time.sleep(0.01)


def test_a_shared_directory_is_used_where_the_sandbox_names_one(tmp_path: Path) -> None:
    pool = Pool(LIMITS, 1, Sandbox(tmp_path))
    list(pool.each(["a"], lambda item: (tmp_path / item).write_text(item)))
    assert (tmp_path / "a").read_text() == "a"


def test_what_all_workers_need_is_loaded_once_before_the_first() -> None:
    loaded: list[int] = []
    pool = Pool(LIMITS, 2, ready=lambda: loaded.append(os.getpid()))
    answers = [done.answer for done in pool.each(range(4), lambda item: [item, loaded])]
    assert loaded == [os.getpid()]
    assert sorted(answers) == [[item, loaded] for item in range(4)]
