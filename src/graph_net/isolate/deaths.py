"""Why a process ended without an answer: one table of causes, for every user of processes."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen

OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals that a confined process cannot send to itself."""
CLOSING = 10.0
"""Seconds for a process to end after it closed its output."""
_NO_MEMORY = ("can't allocate memory", "Cannot allocate memory")
"""Messages of libraries' own exceptions when an allocation failed."""


class Ending(StrEnum):
    """The kind of end."""

    EXCEPTION = "exception"
    CRASH = "crash"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    KILLED = "killed"
    """By a signal from outside: not the fault of the work."""
    NO_ANSWER = "no_answer"
    """It exited, or wrote something that is not an answer."""


@dataclass(frozen=True, slots=True)
class Death:
    """Why there is no answer: the kind of end, a phrase for messages, and the signal, if any."""

    ending: Ending
    reason: str
    signal: int = 0

    def __str__(self) -> str:
        return self.reason


def took_longer(seconds: float) -> Death:
    """Return the death of a process that ran out of time, by its own alarm or a kill."""
    return Death(Ending.TIMEOUT, f"took more than {seconds:g} s")


def held_more(memory_bytes: int | None, exception: str = "") -> Death:
    """Return the death of a process that needed more memory than its limit.

    ``exception`` is the text of the exception it raised, if any.
    """
    why = "the machine ran out of memory"
    if memory_bytes is not None:
        why = f"held more than the limit of {memory_bytes / 2**30:.1f} GiB"
    return Death(Ending.OUT_OF_MEMORY, f"{why} ({exception})" if exception else why)


def started_more(processes: int) -> Death:
    """Return the death of a process that was killed for starting too many processes."""
    return Death(Ending.CRASH, f"started more than {processes} processes", signal.SIGKILL)


def wrote_garbage(why: object) -> Death:
    """Return the death of a process that was killed for an invalid message."""
    return Death(Ending.NO_ANSWER, f"wrote something that is not an answer: {why}")


def wrote_too_much(most_bytes: int) -> Death:
    """Return the death of a process that was killed because its answer was too large."""
    return Death(Ending.NO_ANSWER, f"gave an answer of more than {most_bytes} bytes")


def raised(kind: str, message: str, memory_bytes: int | None) -> Death:
    """Return the death of work that raised an exception of this class."""
    text = f"{kind}: {message}" if message else kind
    if is_out_of_memory(kind, message):
        return held_more(memory_bytes, text)
    return Death(Ending.EXCEPTION, text)


def is_out_of_memory(kind: str, message: str) -> bool:
    """Return whether an exception of Python, NumPy or torch says that an allocation failed."""
    return kind.endswith("MemoryError") or any(text in message for text in _NO_MEMORY)


def death_from(status: int, seconds: float | None, kills_before: int) -> Death:
    """Return the death of a process, from its wait status.

    ``seconds`` is its alarm, if one was set. ``kills_before`` is ``oom_kills()`` at its start: a
    SIGKILL that we did not send counts as an out-of-memory kill only if that number has risen.
    """
    return death_from_code(os.waitstatus_to_exitcode(status), seconds, kills_before)


def death_from_code(code: int, seconds: float | None, kills_before: int) -> Death:
    """Return the death of a process, as ``death_from``, from its exit code.

    As in ``subprocess``, the code is negative for a process that a signal ended.
    """
    if code >= 0:
        return Death(Ending.NO_ANSWER, f"ended with status {code} and no answer")
    number = -code
    if number == signal.SIGALRM and seconds is not None:
        return took_longer(seconds)
    if number == signal.SIGKILL and oom_kills() > kills_before:
        return held_more(None)
    if number in OUTSIDE:
        why = f"killed by a signal from outside ({name_of(number)})"
        return Death(Ending.KILLED, why, number)
    why = f"died of {name_of(number)}"
    if number == signal.SIGSYS:
        why += " (it sent itself a signal that ends it)"
    return Death(Ending.CRASH, why, number)


def death_of_started(process: Popen[bytes], kills_before: int) -> Death:
    """Return the death of a process that closed its output without an answer; it is reaped.

    One that goes on without an output is killed.
    """
    from subprocess import TimeoutExpired

    try:
        return death_from_code(process.wait(CLOSING), None, kills_before)
    except TimeoutExpired:
        process.kill()
        process.wait()
        return Death(Ending.NO_ANSWER, "closed its output and gave no answer")


def name_of(number: int) -> str:
    """Return a signal's name."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def oom_kills() -> int:
    """Return how often the kernel has killed a process for lack of memory."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text("ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
