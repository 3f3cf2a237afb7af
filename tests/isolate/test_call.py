"""A call in a process that may die of it: what comes back, whatever it does."""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from graph_net.isolate import INHERITED, Died, Limits, Raised, call
from graph_net.isolate.descendants import children_of, state_of

LIMITS = Limits(60, 4 << 30)
RUBBISH = "something that is not an answer|ended with status 0 and no answer"


def ignores_the_alarm() -> None:
    signal.alarm(0)
    while True:
        time.sleep(60)


def closes_its_pipes_and_hangs() -> None:
    for number in range(3, 64):
        try:
            os.close(number)
        except OSError:
            continue
    ignores_the_alarm()


def says_rubbish(data: bytes = b"\xff\xfe no json") -> None:
    for name in os.listdir("/proc/self/fd"):
        try:
            os.write(int(name), data)
        except OSError:
            continue
    os._exit(0)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def raises_something_unspeakable() -> None:
    raise Unspeakable


def test_an_answer_comes_back() -> None:
    assert call(
        lambda: {"a": [1, 2.5, None, "ü\ud800".encode("utf-8", "replace").decode()]}, LIMITS
    )


@pytest.mark.parametrize(
    ("work", "limits", "why"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), LIMITS, "died of SIGSEGV"),
        (lambda: os.kill(os.getpid(), signal.SIGFPE), LIMITS, "died of SIGFPE"),
        (lambda: os._exit(3), LIMITS, "ended with status 3 and no answer"),
        (lambda: bytearray(8 << 30), LIMITS, "held more than the limit of 4.0 GiB"),
        (lambda: [].pop(), LIMITS, "IndexError: pop from empty list"),
        (ignores_the_alarm, Limits(1, 4 << 30), "took more than 1 s"),
        (closes_its_pipes_and_hangs, Limits(1, 4 << 30), "took more than 1 s"),
        (says_rubbish, LIMITS, RUBBISH),
        (lambda: says_rubbish(b'{"error": []}'), LIMITS, RUBBISH),
        (lambda: says_rubbish(b'{"error": 7}'), LIMITS, RUBBISH),
        (lambda: says_rubbish(b'"an error"'), LIMITS, RUBBISH),
        (raises_something_unspeakable, LIMITS, "its text cannot be read: RuntimeError"),
        (lambda: object(), LIMITS, "TypeError"),
    ],
)
def test_every_end_is_told(work: Callable[[], object], limits: Limits, why: str) -> None:
    with pytest.raises(Died, match=why):
        call(work, limits)


class EndsItsProcess:
    """Garbage that must not be collected anywhere but where it was made."""

    def __init__(self) -> None:
        self.me, self.home = self, os.getpid()

    def __del__(self) -> None:
        if os.getpid() != self.home:
            os._exit(7)


def test_garbage_of_the_parent_is_not_collected_in_the_child() -> None:
    gc.disable()
    try:
        EndsItsProcess()
        assert call(lambda: [gc.collect(), "alive"][1], LIMITS) == "alive"
    finally:
        gc.enable()
        gc.collect()


def test_an_exception_has_its_class() -> None:
    with pytest.raises(Raised) as caught:
        call(lambda: dict[str, int]()["x"], LIMITS)
    assert (caught.value.kind, caught.value.message) == ("KeyError", "'x'")


def daemon() -> int:
    """The process that a process in a session of its own started, whose parent is gone."""
    reads, writes = os.pipe()
    if os.fork() == 0:
        os.setsid()
        child = os.fork()
        if child == 0:
            time.sleep(600)
        os.write(writes, str(child).encode())
        os._exit(0)
    return int(os.read(reads, 32))


def test_what_it_left_behind_is_gone() -> None:
    assert state_of(call(daemon, LIMITS)) in "XZ"


def test_processes_of_the_caller_are_left_alone() -> None:
    mine = subprocess.Popen(["/bin/sleep", "600"])
    try:
        call(daemon, LIMITS)
        assert mine.poll() is None
    finally:
        mine.kill()
        mine.wait()


def test_nothing_is_left_in_the_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    call(lambda: (Path(os.environ["HOME"]) / "file").write_text("x"), LIMITS)
    assert list(tmp_path.iterdir()) == []


def test_it_dies_with_who_called(tmp_path: Path) -> None:
    program = (
        "import os, time; from graph_net.isolate import Limits, Needs, Sandbox, call;"
        "from pathlib import Path;"
        f"place = Path({str(tmp_path)!r});"
        "box = Sandbox(place);"
        "call(lambda: ((place / 'pid').write_text(str(os.getpid())), time.sleep(600)),"
        " Limits(600, None), box)"
    )
    caller = subprocess.Popen([sys.executable, "-c", program])
    try:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert caller.poll() is None
            time.sleep(0.01)
        (worker,) = children_of(caller.pid)
        assert worker == int((tmp_path / "pid").read_text())
    finally:
        caller.kill()
        caller.wait()
    while state_of(worker) not in "XZ":
        time.sleep(0.01)


def test_an_answer_that_is_too_long_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("graph_net.isolate.worker")
    monkeypatch.setattr(module, "MOST_ANSWER", 1 << 20)
    with pytest.raises(Died, match="more than 1048576 bytes"):
        call(lambda: "x" * (2 << 20), LIMITS)
    assert json.loads(call(lambda: json.dumps("x" * 1000), LIMITS)) == "x" * 1000


def sleeps(seconds: float) -> str:
    time.sleep(seconds)
    return "awake"


def test_a_confined_process_can_call_another() -> None:
    def inner(seconds: float) -> str:
        try:
            return str(call(partial(sleeps, seconds), Limits(1, None), INHERITED))
        except Died as error:
            return str(error)

    assert call(lambda: inner(0), LIMITS) == "awake"
    assert call(lambda: inner(60), LIMITS) == "took more than 1 s"


def test_what_a_confined_process_calls_is_confined_too(tmp_path: Path) -> None:
    def inner() -> str:
        with pytest.raises(Raised) as caught:
            call(lambda: (tmp_path / "file").write_text("x"), Limits(60, None), INHERITED)
        return caught.value.kind

    assert call(inner, LIMITS) == "PermissionError"
