"""A system-call filter for what Landlock does not mediate: sockets, processes, modes of files.

The filter answers with an error instead of killing, so that a library which merely tries goes on
without. It holds for the calling thread and for whatever it starts. A process that sends itself a
signal which looks as if somebody outside had sent it dies of SIGSYS instead, and nobody else is
suspected.
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
"""The flags of ``clone`` that make namespaces, in which a process could be root."""
_FOREIGN_NUMBERS = 0x40000000
"""From here on x86's third set of numbers, by which the same calls are reached."""

_NEVER = """
ptrace process_vm_readv process_vm_writev pidfd_getfd pidfd_send_signal kcmp bpf
perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register
add_key request_key keyctl unshare setns
chown fchown lchown fchownat setxattr lsetxattr fsetxattr setxattrat
removexattr lremovexattr fremovexattr removexattrat file_setattr
shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink
inotify_add_watch fanotify_init syslog memfd_secret
""".split()
"""What reaches other processes, or stays when this one has ended: segments, semaphores and queues
belong to nobody. A watch tells the names of files in a directory that cannot be listed."""
_UNCOUNTED = ["memfd_create"]
"""Memory that no process maps is counted by nobody, and is no address."""
_PRETENDED = "chmod fchmod fchmodat fchmodat2".split()
"""Answered as if done. Landlock lets the owner of any file change its mode, a linker and OpenVINO
fail where they cannot, and for a library that is loaded the mode does not matter."""
_FATAL = (1, 2, 9, 15, 19)
"""HUP, INT, KILL, TERM and STOP: who sends them to a worker is taken to stand outside it."""
_SIGNALLING = {"kill": 1, "tkill": 1, "tgkill": 2, "rt_sigqueueinfo": 1, "rt_tgsigqueueinfo": 2}
"""The calls whose first argument is a process, and which of their arguments is the signal."""


class Machine:
    """How one architecture names itself to the filter, and numbers the calls."""

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
    """Whether the filter knows this architecture."""
    return platform.machine() in MACHINES


class Sockets(Enum):
    """Which new sockets are left alone."""

    NONE = 0
    UNCONNECTED = 1
    """Unix sockets that connect to nobody: a GPU's driver makes one for itself."""
    ALL = 2


def restrict(sockets: Sockets = Sockets.NONE, *, memory_files: bool = False) -> None:
    """Refuse the calls above from now on, and sockets but for these.

    The process must have given up new privileges before.
    """
    machine = MACHINES[platform.machine()]
    program = b"".join(_program(machine, sockets, memory_files))
    code = ctypes.create_string_buffer(program, len(program))
    length = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    # Without the flag older kernels switch a protection on that slows down what is measured.
    wide = ctypes.c_long
    if libc().syscall(wide(machine.filtering), wide(_SET_FILTER), wide(_ALLOW_SPECULATION), length):
        number = ctypes.get_errno()
        raise OSError(number, f"cannot filter system calls: {os.strerror(number)}")


def _program(machine: Machine, sockets: Sockets, memory_files: bool) -> list[bytes]:
    """The filter: one call after another; where one is met, its instructions end with an answer."""
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
    # Its flags lie where no filter can look; glibc falls back to clone, whose flags do not.
    code += [
        _step(_EQUAL, machine.numbers["clone3"], 0, 1),
        _step(_RETURN, _FAIL | errno.ENOSYS),
        _step(_EQUAL, machine.clone, 0, 4),
        _step(_LOAD, _argument(0)),
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
            _step(_LOAD, _argument(0)),
            _step(_EQUAL, socket.AF_UNIX, 1, 0),
            refuse,
            _step(_RETURN, _ALLOW),
        ]
        code += [_step(_EQUAL, machine.numbers["socket"], 0, len(body)), *body]
    # The limits of other processes, and one's own on processor time, at which the kernel kills.
    cpu = [_step(_EQUAL, resource.RLIMIT_CPU, 0, 1), refuse, _step(_RETURN, _ALLOW)]
    own = [_step(_LOAD, _argument(0)), *cpu]
    other = [
        _step(_LOAD, _argument(0)),
        _step(_EQUAL, 0, 1, 0),
        refuse,
        _step(_LOAD, _argument(1)),
        *cpu,
    ]
    for name, body in (("setrlimit", own), ("prlimit64", other)):
        code += [_step(_EQUAL, machine.numbers[name], 0, len(body)), *body]
    return [*code, _step(_RETURN, _ALLOW)]


def _no_suicide(number: int, place: int) -> list[bytes]:
    """Kill who sends a fatal signal to this process, to its group or to everybody."""
    me = os.getpid()
    targets = (me, 0, -1 & 0xFFFFFFFF, -me & 0xFFFFFFFF)
    body = [
        _step(_LOAD, _argument(place)),
        *_any_of(_FATAL),
        _step(_RETURN, _ALLOW),
        _step(_LOAD, _argument(0)),
        *_any_of(targets),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _KILL),
    ]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _no_orphan(number: int) -> list[bytes]:
    """Answer as if done who no longer wants to die with its parent; who wants to, may."""
    body = [
        _step(_LOAD, _argument(0)),
        _step(_EQUAL, PDEATHSIG, 0, 3),
        _step(_LOAD, _argument(1)),
        _step(_EQUAL, signal.SIGKILL, 1, 0),
        _step(_RETURN, _FAIL),
        _step(_RETURN, _ALLOW),
    ]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _any_of(values: tuple[int, ...]) -> list[bytes]:
    """Step over the instruction that follows where the loaded value is one of these."""
    left = len(values)
    return [_step(_EQUAL, value, left - place, 0) for place, value in enumerate(values)]


def _argument(place: int) -> int:
    """Where the lower half of an argument lies."""
    return _FIRST_ARGUMENT_AT + 8 * place


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
