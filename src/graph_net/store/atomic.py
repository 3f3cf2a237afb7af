"""Files that exist completely or not at all: written aside, synced, renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(target: Path, *, durable: bool = True, suffix: str = "") -> Iterator[Path]:
    """Yield a path to write to, which is renamed to ``target`` when the block succeeds.

    If the block raises, the path is removed. A durable file survives a loss of power once the block
    has ended. ``suffix`` ends the path, for libraries that look at it.
    """
    aside = target.with_name(f".{target.name}.{os.getpid()}{suffix}")
    try:
        yield aside
        if durable:
            _sync(aside)
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)
    if durable:
        _sync(target.parent)


def caching(target: Path) -> AbstractContextManager[Path]:
    """Do as ``replacing`` for a file that can be recreated: not synced, and the suffix is kept."""
    return replacing(target, durable=False, suffix=target.suffix)


@contextmanager
def open_atomic(target: Path, *, durable: bool = True) -> Iterator[IO[bytes]]:
    """Yield a file to write to, which gets its name when the block succeeds."""
    with replacing(target, durable=durable) as aside, aside.open("wb") as file:
        yield file


def write_bytes(target: Path, data: bytes, *, durable: bool = True) -> None:
    """Write a file, or replace one."""
    with replacing(target, durable=durable) as aside:
        aside.write_bytes(data)


def write_text(target: Path, text: str, *, durable: bool = True) -> None:
    """Write a file of UTF-8 text, or replace one."""
    write_bytes(target, text.encode("utf-8"), durable=durable)


def move(source: Path, target: Path) -> None:
    """Rename a finished file to ``target``, durably."""
    _sync(source)
    source.replace(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    """Sync a file, or the names in a directory, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
