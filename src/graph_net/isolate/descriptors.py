"""File descriptors that a forked process does not inherit."""

from __future__ import annotations

import os
from collections.abc import Collection

_GPU = "/dev/nvidia"


def keep_only(kept: Collection[int]) -> None:
    """Let every descriptor but these lead to the null device, standard streams included.

    They are replaced, not closed: an object of the parent that closes its number later must not
    close what this process opened under it. A driver's own descriptors stay; its library, which
    was loaded before the fork, would call them by number.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number in kept or number == null or _leads_to_gpu(number):
            continue
        os.dup2(null, number, inheritable=number <= 2)
    os.close(null)


def _leads_to_gpu(number: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{number}").startswith(_GPU)
    except OSError:  # the listing's own, closed by now
        return True
