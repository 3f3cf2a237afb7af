"""A file is there whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from graph_net.store.atomic import caching, move, open_atomic, replacing, write_bytes, write_text

KILLED = """
import os, signal, sys
from pathlib import Path
from graph_net.store.atomic import open_atomic
with open_atomic(Path(sys.argv[1])) as file:
    file.write(b"half of it")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "file.json"
    write_text(target, "old")
    with open_atomic(target) as file:
        file.write("neu, größer".encode())
        file.flush()
        assert target.read_text() == "old"
    assert target.read_text("utf-8") == "neu, größer"
    assert names(tmp_path) == ["file.json"]


def test_what_raises_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_bytes(target, b"old")

    def fail_half_way() -> None:
        with replacing(target) as aside:
            aside.write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_killed_writer_leaves_the_old_file_under_its_name(tmp_path: Path) -> None:
    target = tmp_path / "file.json"
    write_bytes(target, b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.glob("*.json")] == ["file.json"]


def test_it_is_synced_before_it_has_its_name_and_a_cache_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync = os.fsync

    def told(handle: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        sync(handle)

    monkeypatch.setattr(os, "fsync", told)
    with caching(tmp_path / "library.so") as aside:
        assert aside.suffix == ".so"
        aside.write_bytes(b"made again if lost")
    assert synced == []
    write_bytes(tmp_path / "file", b"kept")
    assert [name.startswith(".file.") for name in synced] == [True, False]
    assert synced[1] == tmp_path.name


def test_a_finished_file_gets_its_name(tmp_path: Path) -> None:
    write_bytes(tmp_path / "made", b"new")
    write_bytes(tmp_path / "file", b"old")
    move(tmp_path / "made", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert names(tmp_path) == ["file"]
