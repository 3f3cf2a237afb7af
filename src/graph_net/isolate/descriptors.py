"""File descriptors that a forked process does not inherit."""

from __future__ import annotations

import os
import resource
from collections.abc import Collection, Iterable

_GPU = "/dev/nvidia"


def keep_only(keep: Collection[int]) -> None:
    """Point every descriptor except these to the null device, standard streams included.

    Descriptors are replaced, not closed: an object inherited from the parent may close its number
    later, and must not close a file that this process opened under that number. A GPU driver's
    descriptors stay: its library, loaded before the fork, uses them by number.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for number in _list_descriptors():
        if number in keep or number == null or _is_left_alone(number):
            continue
        os.dup2(null, number, inheritable=number <= 2)
    os.close(null)


def _list_descriptors() -> Iterable[int]:
    """Return every possible descriptor; a process forked from a confined one cannot list them."""
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except PermissionError:
        return range(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _is_left_alone(number: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{number}").startswith(_GPU)
    except OSError:  # already closed, such as the descriptor of the listing
        return True
