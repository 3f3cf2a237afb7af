"""A system-call filter for what Landlock does not mediate: sockets, processes, modes of files.

The filter returns an error instead of killing, so that a library that merely tries a call
continues. It holds for the calling thread and all it starts. A process that sends itself a signal
that would look as if it came from outside dies of SIGSYS instead.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import signal
import socket
import struct
from enum import Enum

from graph_net.isolate.privileges import PDEATHSIG, libc

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_SET_FILTER, _ALLOW_SPECULATION = 1, 1 << 2
_NEW_NAMESPACES = 0x7E020000
"""The flags of ``clone`` that create namespaces, in which a process could be root."""
_FOREIGN_NUMBERS = 0x40000000
"""The first of the x32 numbers, which reach the same calls."""

_NEVER = """
ptrace process_vm_readv process_vm_writev pidfd_getfd pidfd_send_signal kcmp bpf
perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register
add_key request_key keyctl unshare setns
chown fchown lchown fchownat setxattr lsetxattr fsetxattr setxattrat
removexattr lremovexattr fremovexattr removexattrat file_setattr
shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink
inotify_add_watch fanotify_init syslog memfd_secret
""".split()
"""Calls that reach other processes, or whose objects outlive this one: segments, semaphores and
queues have no owner. A watch reveals file names in a directory that cannot be listed."""
_UNCOUNTED = ["memfd_create"]
"""Memory of such a file, unless mapped, counts towards no process's limit."""
_PRETENDED = "chmod fchmod fchmodat fchmodat2".split()
"""Skipped, but reported as successful. Landlock lets the owner of a file change its mode; a linker
and OpenVINO fail if they cannot; and the mode of a loaded library does not matter."""
_FATAL = (1, 2, 9, 15, 19)
"""HUP, INT, KILL, TERM and STOP: a worker that dies of them counts as killed from outside."""
_SIGNALLING = {"kill": 1, "tkill": 1, "tgkill": 2, "rt_sigqueueinfo": 1, "rt_tgsigqueueinfo": 2}
"""The calls whose first argument is a process, and the index of their signal argument."""


class Machine:
    """An architecture: its audit number and its system-call numbers."""

    def __init__(self, audit: int, filtering: int, clone: int, numbers: dict[str, int]) -> None:
        self.audit, self.filtering, self.clone, self.numbers = audit, filtering, clone, numbers


_COMMON = {
    "pidfd_getfd": 438, "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466,
    "file_setattr": 469, "clone3": 435, "memfd_secret": 447,
}  # fmt: skip
MACHINES = {
    "x86_64": Machine(0xC000003E, 317, 56, _COMMON | {
        "socket": 41, "connect": 42, "ptrace": 101,
        "process_vm_readv": 310, "process_vm_writev": 311,
        "kcmp": 312, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "add_key": 248,
        "request_key": 249, "keyctl": 250, "unshare": 272, "setns": 308, "chmod": 90,
        "fchmod": 91, "fchmodat": 268, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260,
        "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197,
        "lremovexattr": 198, "fremovexattr": 199, "kill": 62, "tkill": 200, "tgkill": 234,
        "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "setrlimit": 160, "prlimit64": 302,
        "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66,
        "semtimedop": 220, "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "mq_open": 240,
        "mq_unlink": 241, "inotify_add_watch": 254, "fanotify_init": 300, "syslog": 103,
        "memfd_create": 319, "prctl": 157,
    }),
    "aarch64": Machine(0xC00000B7, 277, 220, _COMMON | {
        "socket": 198, "connect": 203, "ptrace": 117,
        "process_vm_readv": 270, "process_vm_writev": 271,
        "kcmp": 272, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "add_key": 217,
        "request_key": 218, "keyctl": 219, "unshare": 97, "setns": 268, "fchmod": 52,
        "fchmodat": 53, "fchown": 55, "fchownat": 54, "setxattr": 5, "lsetxattr": 6,
        "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
        "kill": 129, "tkill": 130, "tgkill": 131, "rt_sigqueueinfo": 138,
        "rt_tgsigqueueinfo": 240, "setrlimit": 164, "prlimit64": 261,
        "shmget": 194, "shmat": 196, "shmctl": 195, "semget": 190, "semop": 193, "semctl": 191,
        "semtimedop": 192, "msgget": 186, "msgsnd": 189, "msgrcv": 188, "msgctl": 187,
        "mq_open": 180, "mq_unlink": 181, "inotify_add_watch": 27, "fanotify_init": 262,
        "syslog": 116, "memfd_create": 279, "prctl": 167,
    }),
}  # fmt: skip


def available() -> bool:
    """Return whether the filter knows this architecture."""
    return platform.machine() in MACHINES


class Sockets(Enum):
    """The new sockets that are allowed."""

    NONE = 0
    UNCONNECTED = 1
    """Unix sockets that do not connect: a GPU's driver creates one for itself."""
    ALL = 2


def restrict(sockets: Sockets = Sockets.NONE, *, memory_files: bool = False) -> None:
    """Refuse the calls above from now on, and all sockets except these.

    The process must have set no_new_privs before.
    """
    machine = MACHINES[platform.machine()]
    program = b"".join(_make_filter(machine, sockets, memory_files))
    code = ctypes.create_string_buffer(program, len(program))
    length = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    # Without the flag older kernels enable a mitigation that slows down measurements.
    wide = ctypes.c_long
    if libc().syscall(wide(machine.filtering), wide(_SET_FILTER), wide(_ALLOW_SPECULATION), length):
        number = ctypes.get_errno()
        raise OSError(number, f"cannot filter system calls: {os.strerror(number)}")


def _make_filter(machine: Machine, sockets: Sockets, memory_files: bool) -> list[bytes]:
    """Return the filter: a test for each call, followed by the instructions that answer it."""
    refused = _NEVER + ([] if memory_files else _UNCOUNTED)
    refused += {Sockets.NONE: ["socket"], Sockets.UNCONNECTED: ["connect"]}.get(sockets, [])
    numbers = [machine.numbers[name] for name in refused if name in machine.numbers]
    code = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_EQUAL, machine.audit, 1, 0),
        _step(_RETURN, _FAIL | errno.EPERM),
        _step(_LOAD, _NUMBER_AT),
        _step(_AT_LEAST, _FOREIGN_NUMBERS, 0, 1),
        _step(_RETURN, _FAIL | errno.EPERM),
    ]
    answers = dict.fromkeys(numbers, errno.EPERM)
    answers |= {machine.numbers[n]: 0 for n in _PRETENDED if n in machine.numbers}
    for number, answer in answers.items():
        code += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _FAIL | answer)]
    # clone3 has its flags in memory, which no filter can read; glibc falls back to clone.
    code += [
        _step(_EQUAL, machine.numbers["clone3"], 0, 1),
        _step(_RETURN, _FAIL | errno.ENOSYS),
        _step(_EQUAL, machine.clone, 0, 4),
        _step(_LOAD, _argument_offset(0)),
        _step(_ANY_BIT, _NEW_NAMESPACES, 0, 1),
        _step(_RETURN, _FAIL | errno.EPERM),
        _step(_RETURN, _ALLOW),
    ]
    for name, place in _SIGNALLING.items():
        code += _no_suicide(machine.numbers[name], place)
    code += _no_orphan(machine.numbers["prctl"])
    refuse = _step(_RETURN, _FAIL | errno.EPERM)
    if sockets is Sockets.UNCONNECTED:
        body = [
            _step(_LOAD, _argument_offset(0)),
            _step(_EQUAL, socket.AF_UNIX, 1, 0),
            refuse,
            _step(_RETURN, _ALLOW),
        ]
        code += [_step(_EQUAL, machine.numbers["socket"], 0, len(body)), *body]
    # Refuse limits of other processes, and its own limit of CPU time, at which the kernel kills.
    cpu = [_step(_EQUAL, resource.RLIMIT_CPU, 0, 1), refuse, _step(_RETURN, _ALLOW)]
    own = [_step(_LOAD, _argument_offset(0)), *cpu]
    other = [
        _step(_LOAD, _argument_offset(0)),
        _step(_EQUAL, 0, 1, 0),
        refuse,
        _step(_LOAD, _argument_offset(1)),
        *cpu,
    ]
    for name, body in (("setrlimit", own), ("prlimit64", other)):
        code += [_step(_EQUAL, machine.numbers[name], 0, len(body)), *body]
    return [*code, _step(_RETURN, _ALLOW)]


def _no_suicide(number: int, index: int) -> list[bytes]:
    """Return instructions that kill a process for a fatal signal to itself, its group or all."""
    me = os.getpid()
    targets = (me, 0, -1 & 0xFFFFFFFF, -me & 0xFFFFFFFF)
    body = [
        _step(_LOAD, _argument_offset(index)),
        *_skip_if_any(_FATAL),
        _step(_RETURN, _ALLOW),
        _step(_LOAD, _argument_offset(0)),
        *_skip_if_any(targets),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _KILL),
    ]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _no_orphan(number: int) -> list[bytes]:
    """Return instructions that ignore a request to survive the death of the parent."""
    body = [
        _step(_LOAD, _argument_offset(0)),
        _step(_EQUAL, PDEATHSIG, 0, 3),
        _step(_LOAD, _argument_offset(1)),
        _step(_EQUAL, signal.SIGKILL, 1, 0),
        _step(_RETURN, _FAIL),
        _step(_RETURN, _ALLOW),
    ]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _skip_if_any(values: tuple[int, ...]) -> list[bytes]:
    """Return tests that skip the instruction after them if the loaded value is one of these."""
    left = len(values)
    return [_step(_EQUAL, value, left - index, 0) for index, value in enumerate(values)]


def _argument_offset(index: int) -> int:
    """Return the offset of the lower half of an argument."""
    return _FIRST_ARGUMENT_AT + 8 * index


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
