"""File descriptors that a forked process does not inherit."""

from __future__ import annotations

import os
import resource
from collections.abc import Collection, Iterable

_GPU = "/dev/nvidia"


def keep_only(kept: Collection[int]) -> None:
    """Let every descriptor but these lead to the null device, standard streams included.

    They are replaced, not closed: an object of the parent that closes its number later must not
    close what this process opened under it. A driver's own descriptors stay; its library, which
    was loaded before the fork, would call them by number.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for number in _numbers():
        if number in kept or number == null or _is_left_alone(number):
            continue
        os.dup2(null, number, inheritable=number <= 2)
    os.close(null)


def _numbers() -> Iterable[int]:
    """Every descriptor there may be; a process forked from a confined one cannot list its own."""
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except PermissionError:
        return range(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _is_left_alone(number: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{number}").startswith(_GPU)
    except OSError:  # it is closed: the listing's own, say
        return True
