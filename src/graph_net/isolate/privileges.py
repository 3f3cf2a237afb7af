"""What a process may become, and who dies with whom: prctl and capabilities without a library."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

PDEATHSIG, _NO_NEW_PRIVS, _SUBREAPER, _GET_SUBREAPER = 1, 38, 36, 37
_CAPABILITY_VERSION = 0x20080522


@cache
def libc() -> ctypes.CDLL:
    """The C library that this process runs with."""
    return ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies; it may be dead by now."""
    _prctl(PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies, so that none gets away."""
    _prctl(_SUBREAPER, 1)


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Adopt orphans for a while; afterwards as before."""
    before = ctypes.c_int()
    libc().prctl(_GET_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    adopt_orphans()
    try:
        yield
    finally:
        _prctl(_SUBREAPER, before.value)


def give_up_privileges() -> None:
    """No capabilities now, and none again through any program that is started."""
    _prctl(_NO_NEW_PRIVS, 1)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    if libc().capset(header, bytes(24)):
        raise _error("drop capabilities")


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    if libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero):
        raise _error(f"set process control {option}")


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"cannot {what}: {os.strerror(number)}")
