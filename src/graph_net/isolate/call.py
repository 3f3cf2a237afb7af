"""One call in a confined process that may die of it."""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from graph_net.isolate.descriptors import keep_only
from graph_net.isolate.limits import Limits
from graph_net.isolate.place import temporary_place
from graph_net.isolate.privileges import adopting_orphans, die_with_parent
from graph_net.isolate.sandbox import Confinement, Sandbox, confine
from graph_net.isolate.tree import kill_all, kill_confined_strays

MOST_ANSWER = 256 << 20
"""Bytes of an answer."""
MOST_TEXT = 20_000
"""Letters of an exception's text; one that names every operator in the way is long."""
PATIENCE = 5.0
"""Seconds after its own alarm that a process which ignores it is killed."""


class Died(RuntimeError):
    """The process ended without an answer: of time, of memory, or of a crash."""


class Raised(Died):
    """The call itself failed; ``kind`` is the name of the exception's class."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind, self.message = kind, message


def call(work: Callable[[], Any], limits: Limits, sandbox: Sandbox | None = None) -> Any:
    """Return what ``work`` gives (something JSON can hold) in a confined process.

    It has a work directory of its own unless the sandbox names one. An exception comes back as
    Raised, any other end without an answer as Died. What it started dies with it.
    """
    with temporary_place() as folder:
        confined = sandbox or Sandbox()
        if confined.workdir is None:
            confined = Sandbox(folder, confined.needs, confined.device)
        with adopting_orphans():
            data, status = _run(work, limits, confined)
            kill_confined_strays()
    return _answer(data, status, limits)


def _run(work: Callable[[], Any], limits: Limits, sandbox: Sandbox) -> tuple[bytes, int]:
    sys.stdout.flush()
    sys.stderr.flush()
    reads, writes = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _live(work, limits, sandbox, writes, parent)
    os.close(writes)
    death = os.pidfd_open(child)
    try:
        data = _listen(reads, death, time.monotonic() + limits.seconds + PATIENCE)
    finally:
        kill_all([child])
        os.close(reads)
        os.close(death)
        _, status = os.waitpid(child, 0)
    return data, status


def _live(
    work: Callable[[], Any], limits: Limits, sandbox: Sandbox, pipe: int, parent: int
) -> NoReturn:
    try:
        enter(limits, sandbox, parent, pipe)
        try:
            answer: dict[str, Any] = {"answer": work()}
        except Exception as error:
            answer = {"error": [type(error).__name__, text_of(error)]}
        rest = json.dumps(answer).encode()
        while rest:
            rest = rest[os.write(pipe, rest) :]
    finally:
        os._exit(0)


def enter(limits: Limits, sandbox: Sandbox, parent: int, *pipes: int) -> Confinement:
    """Begin the life of a forked process: it dies with its parent, confined, within limits.

    Of the descriptors it was forked with it keeps these. Garbage that its parent left stays: a
    pool of threads among it would wait for its threads, which a fork does not copy, for ever.
    """
    gc.freeze()
    die_with_parent(parent)
    keep_only(pipes)
    confinement = confine(sandbox)
    limits.impose()
    return confinement


def _listen(reads: int, death: int, deadline: float) -> bytes:
    """What the process says until it ends; a descendant that holds its pipe cannot keep us."""
    data = bytearray()
    os.set_blocking(reads, False)
    while len(data) <= MOST_ANSWER:
        ready, _, _ = select.select([reads, death], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            break
        try:
            part = os.read(reads, 1 << 20)
        except BlockingIOError:
            part = b""
            if death in ready:
                break
            continue
        if not part:
            break
        data += part
    return bytes(data)


def _answer(data: bytes, status: int, limits: Limits) -> Any:
    try:
        answer = json.loads(data)
        if "error" not in answer:
            return answer["answer"]
        kind, message = map(str, answer["error"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Died(_end_of(data, status, limits)) from error
    raise Raised(kind[:MOST_TEXT], message[:MOST_TEXT])


def _end_of(data: bytes, status: int, limits: Limits) -> str:
    if len(data) > MOST_ANSWER:
        return f"an answer of more than {MOST_ANSWER} bytes"
    if not os.WIFSIGNALED(status):
        return "ended without an answer"
    number = os.WTERMSIG(status)
    if number in (signal.SIGALRM, signal.SIGKILL):
        return f"no answer within {limits.seconds} s"
    return f"died of {name_of(number)}"


def name_of(number: int) -> str:
    """A signal's name."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def text_of(error: BaseException) -> str:
    """An exception's own text, of bounded length, whatever its class does when asked for it."""
    try:
        text = str.__str__(str(error))  # of a subclass too, whose own methods are not asked
    except BaseException as second:
        text = f"(its text cannot be had: {type(second).__name__})"
    return text[:MOST_TEXT].encode("utf-8", "backslashreplace").decode()
