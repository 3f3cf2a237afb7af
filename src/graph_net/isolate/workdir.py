"""The directory that a confined process writes to: made for it, and removed whatever it left there.

What removes it must not be stopped by what is in it. ``shutil.rmtree`` calls itself once a level,
and ends its process on a tree of a thousand directories, one within the other.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def temporary_place(prefix: str = "graph-net-") -> Iterator[Path]:
    """A new directory, removed at the end with all that is in it."""
    place = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield place
    finally:
        remove_tree(place)


def remove_tree(place: Path) -> None:
    """Remove a directory and what is in it, as far as this user can; a link is not followed.

    Directories are moved to the top one by one and emptied there: neither depth, nor the length of
    a path, nor a mode that forbids reading is in the way. Whoever wrote there has ended.
    """
    with suppress(OSError):
        top = _opened(str(place), None)
        try:
            _empty(top)
        finally:
            os.close(top)
        place.rmdir()


def _empty(top: int) -> None:
    """Remove what is in a directory; what cannot be removed is left."""
    numbers, left = count(), set[str]()
    while names := set(os.listdir(top)) - left:
        for name in names:
            try:
                if not _unlinked(name, top):
                    _flatten(name, top, numbers)
            except OSError:
                left.add(name)


def _flatten(name: str, top: int, numbers: Iterator[int]) -> None:
    """Remove a directory below ``top``, those in it moved to the top before."""
    inner = _opened(name, top)
    try:
        for entry in os.listdir(inner):
            if not _unlinked(entry, inner):
                os.close(_opened(entry, inner))  # to be moved, a directory must be writable
                os.rename(entry, _free_name(top, numbers), src_dir_fd=inner, dst_dir_fd=top)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)


def _unlinked(name: str, folder: int) -> bool:
    """Whether a name was removed, which it is not where it is a directory."""
    if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
        return False
    os.unlink(name, dir_fd=folder)
    return True


def _opened(name: str, folder: int | None) -> int:
    """A handle on a directory, made readable and writable for its owner where it is not."""
    handle = os.open(name, _OPEN | os.O_PATH, dir_fd=folder)
    try:
        if os.fstat(handle).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(f"/proc/self/fd/{handle}", stat.S_IRWXU)
        return os.open(f"/proc/self/fd/{handle}", _OPEN & ~os.O_NOFOLLOW)
    finally:
        os.close(handle)


def _free_name(top: int, numbers: Iterator[int]) -> str:
    """A name that nothing at the top has."""
    while True:
        name = f".{next(numbers)}"
        try:
            os.lstat(name, dir_fd=top)
        except FileNotFoundError:
            return name
