"""A work directory is removed whatever was left in it, and nothing but it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from graph_net.isolate import Limits, call
from graph_net.isolate.workdir import remove_tree, temporary_directory

LIMITS = Limits(60, 8 << 30)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "place"
    place.mkdir()
    yield place
    remove_tree(place)


def dig(place: Path, depth: int) -> None:
    """Make directories, one within the other, whose path no call takes."""
    handle = os.open(place, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("a", dir_fd=handle)
        inner = os.open("a", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)


def test_a_tree_deeper_than_any_stack_goes(place: Path) -> None:
    dig(place, sys.getrecursionlimit() + 200)
    remove_tree(place)
    assert not place.exists()


def test_a_confined_call_that_leaves_a_deep_tree_has_its_answer() -> None:
    def work() -> str:
        dig(Path(os.environ["HOME"]), sys.getrecursionlimit() + 200)
        return os.environ["HOME"]

    left = Path(call(work, LIMITS))
    assert not left.parent.exists()


def test_names_that_the_removal_uses_itself_are_no_obstacle(place: Path) -> None:
    for name in (".0", ".1/x/y", "z/.0/.1", "z/.2"):
        (place / name).mkdir(parents=True)
    remove_tree(place)
    assert not place.exists()


def test_links_go_and_what_they_lead_to_stays(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir(mode=0o500)
    (tmp_path / "file").write_text("kept")
    (place / "inner").mkdir()
    (place / "inner" / "to_directory").symlink_to(other)
    (place / "to_directory").symlink_to(other)
    (place / "to_file").symlink_to(tmp_path / "file")
    (place / "loop").symlink_to(place)
    remove_tree(place)
    assert not place.exists()
    assert (tmp_path / "file").read_text() == "kept"
    assert other.stat().st_mode & 0o777 == 0o500


def test_a_place_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "other")
    remove_tree(tmp_path / "link")
    assert (tmp_path / "other" / "file").exists()


def test_fifos_and_directories_that_cannot_be_read_go(place: Path) -> None:
    os.mkfifo(place / "fifo")
    (place / "a" / "b").mkdir(parents=True)
    (place / "a" / "b").chmod(0)
    (place / "a").chmod(0)
    place.chmod(0o500)
    remove_tree(place)
    assert not place.exists()


def test_a_temporary_place_is_gone_after_an_error() -> None:
    made: list[Path] = []
    with suppress(KeyError), temporary_directory() as place:
        (place / "x").mkdir()
        made.append(place)
        raise KeyError
    assert made
    assert not made[0].exists()
