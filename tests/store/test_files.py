"""Only regular files are opened."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from graph_net.store.files import (
    NotRegular,
    TooLarge,
    list_regular,
    open_regular,
    read_bytes,
    read_text,
)


def test_a_regular_file_is_read_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    assert read_text(tmp_path / "link") == "text"
    with open_regular(tmp_path / "file") as file:
        assert file.read(2) == b"te"


def test_a_pipe_is_refused_before_anybody_writes_to_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(NotRegular, match=f"{name} cannot be read: it is a FIFO; only regular"):
            open_regular(tmp_path / name)


def test_devices_sockets_and_directories_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for path, kind in (("/dev/zero", "a device"), ("socket", "a socket"), (".", "a directory")):
            with pytest.raises(NotRegular, match=kind):
                read_bytes(path)


def test_a_file_is_read_as_far_as_its_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bytes(tmp_path / "file", most=5) == b"12345"
    with pytest.raises(TooLarge, match="larger than the limit of 4 bytes"):
        read_bytes(tmp_path / "file", most=4)


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"ab\xff")
    with pytest.raises(ValueError, match=r"file is not UTF-8 text \(byte 2\)"):
        read_text(tmp_path / "file")


def test_files_that_match_come_sorted_and_none_is_a_pipe(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.bin"):
        (tmp_path / name).touch()
    assert [path.name for path in list_regular(tmp_path, "*.txt")] == ["a.txt", "b.txt"]
    os.mkfifo(tmp_path / "d.txt")
    with pytest.raises(NotRegular, match=r"d\.txt"):
        list_regular(tmp_path, "*.txt")
