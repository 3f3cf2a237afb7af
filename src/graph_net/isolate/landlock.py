"""Landlock: the kernel's own file, TCP and signal rules for this process and its descendants.

Three system calls without a library. A kernel supports the rights of its ABI version and of all
earlier ones; only those are requested. ``abi`` returns the version (0: no Landlock).
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from graph_net.isolate.privileges import libc

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on every architecture
_VERSION_FLAG = 1
_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FIRST_RIGHTS = (1 << 13) - 1
_MAKE_DEVICES = 1 << 6 | 1 << 11
"""Character and block devices, which no work directory needs."""

READ = EXECUTE | READ_FILE | READ_DIR
WRITE = (_FIRST_RIGHTS | REFER | TRUNCATE) & ~_MAKE_DEVICES
DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEV
_ON_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

SCOPED_SIGNALS = 6
"""The first ABI version that stops a confined process from signalling processes outside."""
_TCP = 3
_SCOPES = 3
"""Abstract Unix sockets and signals."""


def abi() -> int:
    """Return the kernel's version of Landlock, 0 if it has none or it is switched off."""
    return max(0, _call(_CREATE, None, 0, _VERSION_FLAG))


def restrict(rules: Iterable[tuple[Path, int]], *, tcp: bool = False) -> None:
    """Confine the calling thread, and all it starts from now on, to these paths.

    A rule is a path and the rights beneath it; a path that does not exist is left out. ``tcp``
    allows TCP. The process must have set no_new_privs before.
    """
    version = abi()
    handled = _rights(version)
    sizes = (8, 16, 24)[(version >= 4) + (version >= SCOPED_SIGNALS)]
    attributes = struct.pack("=QQQ", handled, 0 if tcp else _TCP, _SCOPES)[:sizes]
    ruleset = _check(_call(_CREATE, attributes, sizes, 0), "create a Landlock ruleset")
    try:
        for path, access in rules:
            _add_rule(ruleset, path, access & handled)
        _check(_call(_RESTRICT, ruleset, 0), "enforce a Landlock ruleset")
    finally:
        os.close(ruleset)


def _rights(version: int) -> int:
    rights = _FIRST_RIGHTS
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        rights |= right if version >= since else 0
    return rights


def _add_rule(ruleset: int, path: Path, access: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not on this machine
        return
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            access &= _ON_A_FILE
        if access:
            attributes = struct.pack("=Qi", access, handle)
            _check(_call(_ADD_RULE, ruleset, _PATH_BENEATH, attributes, 0), f"allow {path}")
    finally:
        os.close(handle)


def _call(number: int, *arguments: int | bytes | None) -> int:
    syscall = libc().syscall
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = int(syscall(ctypes.c_long(number), *wide))
    return result if result >= 0 else -ctypes.get_errno()


def _check(result: int, action: str) -> int:
    if result < 0:
        raise OSError(-result, f"cannot {action}: {os.strerror(-result)}")
    return result
