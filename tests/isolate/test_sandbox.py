"""What a confined process can reach, tried from inside."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from errno import EACCES, EPERM, EXDEV
from pathlib import Path
from typing import Any

import pytest

from graph_net.isolate import Died, Limits, Needs, Raised, Sandbox, call, landlock
from graph_net.isolate.doctor import confinement, examine
from graph_net.isolate.sandbox import SWITCH, Confinement

LIMITS = Limits(60, 8 << 30)
needs_landlock = pytest.mark.skipif(
    landlock.abi() < landlock.SCOPED_SIGNALS, reason="the kernel's Landlock is too old"
)


def refused(work: Callable[[], Any], sandbox: Sandbox | None = None) -> bool:
    """Whether the kernel forbids it."""

    def told() -> str:
        try:
            work()
        except OSError as error:  # EXDEV: a link across the border of what may be written
            return "refused" if error.errno in (EPERM, EACCES, EXDEV) else repr(error)
        return "done"

    answer = call(told, LIMITS, sandbox)
    assert answer in ("refused", "done"), answer
    return bool(answer == "refused")


@needs_landlock
def test_every_promise_that_the_doctor_looks_at_holds_here() -> None:
    assert [finding for finding in examine() if not finding.holds] == []


@needs_landlock
def test_the_doctor_finds_out_what_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "off")
    broken = {finding.promise for finding in examine() if not finding.holds}
    assert {"writes no other file", "opens no connection", "signals nobody outside"} <= broken
    assert "--no-sandbox" in confinement()


def test_it_reads_what_it_needs_and_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "given").write_text("a graph")
    (tmp_path / "beside").write_text("a secret")
    sandbox = Sandbox(needs=Needs(reads=(tmp_path / "given",)))
    assert call((tmp_path / "given").read_text, LIMITS, sandbox) == "a graph"
    assert refused((tmp_path / "beside").read_text, sandbox)
    assert refused(lambda: (tmp_path / "given").write_text("x"), sandbox)


@needs_landlock
@pytest.mark.parametrize("way", ["symlink", "hardlink", "rename"])
def test_no_way_around_leads_out_of_the_work_directory(tmp_path: Path, way: str) -> None:
    (tmp_path / "secret").write_text("of the user")
    work = tmp_path / "work"
    work.mkdir()

    def around() -> str:
        way_in = work / "way"
        if way == "symlink":
            way_in.symlink_to(tmp_path / "secret")
        elif way == "hardlink":
            os.link(tmp_path / "secret", way_in)
        else:
            (tmp_path / "secret").rename(way_in)
        return way_in.read_text()

    assert refused(around, Sandbox(work))
    assert (tmp_path / "secret").read_text() == "of the user"


def test_programs_that_it_starts_are_confined_too(tmp_path: Path) -> None:
    target = tmp_path / "file"

    def start() -> int:
        code = f"open({str(target)!r}, 'w')"
        return subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL).returncode

    assert call(start, LIMITS) != 0
    assert not target.exists()


def test_sockets_are_opened_only_where_they_are_needed() -> None:
    assert refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    assert not refused(lambda: socket.socket(socket.AF_INET), Sandbox(needs=Needs(sockets=True)))


def test_a_gpus_driver_has_a_socket_that_connects_to_nobody(tmp_path: Path) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "service"))
    listening.listen()
    sandbox = Sandbox(needs=Needs(reads=(tmp_path,)), device="cuda")
    assert not refused(lambda: socket.socket(socket.AF_UNIX), sandbox)
    assert refused(lambda: socket.socket(socket.AF_INET), sandbox)
    assert refused(
        lambda: socket.socket(socket.AF_UNIX).connect(str(tmp_path / "service")), sandbox
    )
    listening.close()


def test_secrets_of_the_environment_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_HUB_TOKEN", "secret")
    monkeypatch.setenv("SOME_SETTING", "plain")
    found = call(lambda: [os.environ.get("SOME_HUB_TOKEN"), os.environ.get("SOME_SETTING")], LIMITS)
    assert found == [None, "plain"]


def test_the_kernel_shows_no_secrets_either() -> None:
    program = (
        "from pathlib import Path; from graph_net.isolate import Limits, call;"
        "print(call(lambda: Path('/proc/self/environ').read_text(), Limits(60, None)))"
    )
    environment = {**os.environ, "SOME_HUB_TOKEN": "the-secret", "SOME_SETTING": "plain"}
    shown = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    ).stdout
    assert "SOME_SETTING=plain" in shown
    assert "the-secret" not in shown


def test_it_inherits_no_descriptor(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the user")
    with (tmp_path / "secret").open() as file:
        number = file.fileno()
        assert call(lambda: os.read(number, 100).decode(), LIMITS) == ""


@pytest.mark.parametrize(
    "kill",
    [
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        lambda: os.killpg(0, signal.SIGTERM),
        lambda: signal.raise_signal(signal.SIGINT),
        lambda: subprocess.run(["/bin/sh", "-c", "kill -9 $PPID; exit 1"]).check_returncode(),
    ],
)
def test_who_kills_itself_does_not_look_killed_from_outside(kill: Callable[[], None]) -> None:
    with pytest.raises(Died, match=r"SIGSYS|CalledProcessError"):
        call(kill, LIMITS)


def test_it_changes_nobodys_limits() -> None:
    parent = os.getpid()
    assert refused(lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (8, 8)))


def test_threads_and_children_of_its_own_work(tmp_path: Path) -> None:
    def work() -> int:
        import threading

        done: list[int] = []
        thread = threading.Thread(target=lambda: done.append(1))
        thread.start()
        thread.join()
        child = subprocess.Popen(["/bin/sleep", "600"])
        child.kill()
        return done[0] + child.wait()

    assert call(work, LIMITS) == 1 - signal.SIGKILL


def test_a_process_of_many_threads_is_not_called_confined() -> None:
    def work() -> None:
        import threading

        from graph_net.isolate import confine

        stay = threading.Event()
        threading.Thread(target=stay.wait, daemon=True).start()
        confine(Sandbox())

    with pytest.raises(Raised, match="one thread"):
        call(work, LIMITS)


def test_what_holds_is_told_in_words() -> None:
    assert str(Confinement(("landlock 3",), ("scoped signals",))) == (
        "landlock 3 (without scoped signals)"
    )
    assert str(Confinement(())) == "none"
