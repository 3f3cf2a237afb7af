"""The work directory of a confined process, removable whatever the process left there.

``shutil.rmtree`` recurses once per level: a thousand nested directories would end its process.
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
def temporary_directory(prefix: str = "graph-net-") -> Iterator[Path]:
    """Yield a new directory; remove it with its contents at the end."""
    path = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield path
    finally:
        remove_tree(path)


def remove_tree(path: Path) -> None:
    """Remove a directory and its contents, as far as this user can; links are not followed.

    Directories are moved to the top one by one and emptied there: no depth, path length or mode
    prevents it. The process that wrote there must have ended.
    """
    with suppress(OSError):
        top = _open_directory(str(path), None)
        try:
            _empty(top)
        finally:
            os.close(top)
        path.rmdir()


def _empty(top: int) -> None:
    """Remove the contents of a directory, except what cannot be removed."""
    numbers, left = count(), set[str]()
    while names := set(os.listdir(top)) - left:
        for name in names:
            try:
                if not _unlink_file(name, top):
                    _flatten(name, top, numbers)
            except OSError:
                left.add(name)


def _flatten(name: str, top: int, numbers: Iterator[int]) -> None:
    """Remove a directory below ``top``, after moving its subdirectories to the top."""
    inner = _open_directory(name, top)
    try:
        for entry in os.listdir(inner):
            if not _unlink_file(entry, inner):
                os.close(_open_directory(entry, inner))  # to be moved, a directory must be writable
                os.rename(entry, _free_name(top, numbers), src_dir_fd=inner, dst_dir_fd=top)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)


def _unlink_file(name: str, folder: int) -> bool:
    """Remove a name unless it is a directory; return whether it was removed."""
    if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
        return False
    os.unlink(name, dir_fd=folder)
    return True


def _open_directory(name: str, folder: int | None) -> int:
    """Open a directory, after making it readable and writable for its owner."""
    handle = os.open(name, _OPEN | os.O_PATH, dir_fd=folder)
    try:
        if os.fstat(handle).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(f"/proc/self/fd/{handle}", stat.S_IRWXU)
        return os.open(f"/proc/self/fd/{handle}", _OPEN & ~os.O_NOFOLLOW)
    finally:
        os.close(handle)


def _free_name(top: int, numbers: Iterator[int]) -> str:
    """Return a name that is free at the top."""
    while True:
        name = f".{next(numbers)}"
        try:
            os.lstat(name, dir_fd=top)
        except FileNotFoundError:
            return name
