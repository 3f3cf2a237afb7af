"""A node fetches a graph once, and believes no file but by its content."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_net.cluster.content_cache import ContentCache, content_hash

DATA = b"a graph"
NAME = content_hash(DATA)


def never() -> bytes:
    raise AssertionError("it is here already")


def test_what_is_fetched_once_is_there(tmp_path: Path) -> None:
    assert ContentCache(tmp_path).get(NAME, lambda: DATA) == DATA
    again = ContentCache(tmp_path)
    assert again.get(NAME, never) == DATA
    assert again.fetched == 0


def test_a_file_that_was_changed_is_fetched_again(tmp_path: Path) -> None:
    ContentCache(tmp_path).get(NAME, lambda: DATA)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_bytes(b"another graph")
    assert ContentCache(tmp_path).get(NAME, lambda: DATA) == DATA
    assert ContentCache(tmp_path).get(NAME, never) == DATA


def test_bytes_that_are_others_than_announced_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="others than announced"):
        ContentCache(tmp_path).get(NAME, lambda: b"something else")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
