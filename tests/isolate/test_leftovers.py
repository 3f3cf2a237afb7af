"""What a confined process could leave behind, or hold where nobody counts it, it cannot make."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from errno import EPERM
from pathlib import Path

import pytest

from graph_net.isolate import Limits, Needs, Sandbox, call, seccomp
from graph_net.isolate.privileges import PDEATHSIG, libc

LIMITS = Limits(60, 8 << 30)
NEW = 0o1000 | 0o600
pytestmark = pytest.mark.skipif(not seccomp.available(), reason="no filter for this architecture")


def answer_of(name: str, *arguments: int | bytes) -> list[int]:
    """What a function of the C library returns to a confined process, and its error."""

    def work() -> list[int]:
        wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
        return [getattr(libc(), name)(*wide), ctypes.get_errno()]

    return [int(number) for number in call(work, LIMITS)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("shmget", (0, 4096, NEW)),
        ("shmat", (0, 0, 0)),
        ("shmctl", (0, 0, 0)),
        ("semget", (0, 1, NEW)),
        ("msgget", (0, NEW)),
        ("inotify_add_watch", (0, b"/", 0xFFF)),
        ("klogctl", (10, 0, 0)),
        ("memfd_create", (b"x", 0)),
    ],
)
def test_no_memory_queue_or_watch_outside_its_own_process(
    name: str, arguments: tuple[int | bytes, ...]
) -> None:
    assert answer_of(name, *arguments) == [-1, EPERM]


def test_who_needs_shared_memory_makes_files_of_it() -> None:
    sandbox = Sandbox(needs=Needs(shared_memory=True))
    assert call(lambda: os.write(os.memfd_create("x"), b"123"), LIMITS, sandbox) == 3


def test_it_cannot_unsubscribe_from_its_parents_death() -> None:
    def work() -> list[int]:
        number = ctypes.c_int()
        answer = libc().prctl(PDEATHSIG, 0, 0, 0, 0)
        libc().prctl(2, ctypes.byref(number), 0, 0, 0)
        return [answer, number.value]

    assert call(work, LIMITS) == [0, signal.SIGKILL]


@pytest.mark.parametrize("below", ["", "..", "../.."])
def test_a_home_on_the_path_is_not_part_of_the_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    home = tmp_path / "home" / "somebody"
    home.mkdir(parents=True)
    (home / "secret").write_text("of the user")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(sys, "path", [str(home / below), *sys.path])
    assert call(_tries((home / "secret").read_text), LIMITS) == "PermissionError"


def test_a_directory_in_a_home_that_is_on_the_path_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "module.py").write_text("x = 1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages"), *sys.path])
    assert call((tmp_path / "packages" / "module.py").read_text, LIMITS) == "x = 1"


def _tries(work: Callable[[], str]) -> Callable[[], str]:
    def told() -> str:
        try:
            return work()
        except OSError as error:
            return type(error).__name__

    return told
