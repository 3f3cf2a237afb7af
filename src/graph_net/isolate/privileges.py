"""Privileges of a process, and which processes die together: prctl and capabilities."""

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
    """Return the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies; exit if it is dead already."""
    _prctl(PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies, so that none escapes."""
    _prctl(_SUBREAPER, 1)


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Adopt orphans inside the context."""
    before = ctypes.c_int()
    libc().prctl(_GET_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    adopt_orphans()
    try:
        yield
    finally:
        _prctl(_SUBREAPER, before.value)


def give_up_privileges() -> None:
    """Drop all capabilities, also for any program that is started later."""
    _prctl(_NO_NEW_PRIVS, 1)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    if libc().capset(header, bytes(24)):
        raise _error("drop capabilities")


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    if libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero):
        raise _error(f"set process control {option}")


def _error(action: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"cannot {action}: {os.strerror(number)}")
