"""Many small pieces of work in few forked processes, of which any may crash or hang.

A process for each piece would cost more than the piece, so one takes a batch and answers piece by
piece. When it dies, the piece it was at is lost, and another process goes on behind that; one that
dies before its first piece, of preparing, loses the batch.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from graph_net import isolate
from graph_net.isolate.place import temporary_place

PATIENCE = 5
"""Seconds after its own alarm that a process which ignores it is killed."""
_HEADER = struct.Struct("<?I")

Work = Callable[[str], bytes]


@dataclass(frozen=True)
class Lost:
    """A piece that gave nothing, and why."""

    reason: str


@dataclass(frozen=True)
class Batch:
    """Pieces that share a preparation, which is made in the process that works on them."""

    name: str
    prepare: Callable[[], Work]
    pieces: tuple[str, ...]


@dataclass(frozen=True)
class Limits:
    """What one piece may cost, and how many processes there are."""

    seconds: int = 20
    gigabytes: float = 16.0
    jobs: int = 1


@dataclass
class _Lane:
    batch: Batch
    process: int
    pipe: int
    since: float
    prepared: bool = False
    at: int = 0
    data: bytes = b""


def each(batches: Iterable[Batch], limits: Limits) -> Iterator[tuple[str, str, bytes | Lost]]:
    """(batch, piece, answer) of every piece, in the order they are ready."""
    with temporary_place() as place:
        yield from _each(batches, limits, isolate.Sandbox(place))


def _each(
    batches: Iterable[Batch], limits: Limits, sandbox: isolate.Sandbox
) -> Iterator[tuple[str, str, bytes | Lost]]:
    waiting, left = iter(batches), deque[Batch]()
    lanes: dict[int, _Lane] = {}
    try:
        while True:
            while len(lanes) < limits.jobs:
                batch = left.popleft() if left else next(waiting, None)
                if batch is None:
                    break
                if batch.pieces:
                    lane = _start(batch, limits, sandbox)
                    lanes[lane.pipe] = lane
            if not lanes:
                return
            ready, _, _ = select.select(list(lanes), [], [], 0.5)
            for pipe in ready:
                lane = lanes[pipe]
                data = os.read(pipe, 1 << 20)
                yield from _answers(lane, data)
                if not data:
                    del lanes[pipe]
                    yield from _ended(lane, limits, left)
            _kill_stuck(lanes.values(), limits)
    finally:
        for lane in lanes.values():
            os.kill(lane.process, signal.SIGKILL)
            os.close(lane.pipe)
            os.waitpid(lane.process, 0)


def _answers(lane: _Lane, data: bytes) -> Iterator[tuple[str, str, bytes | Lost]]:
    lane.data += data
    while len(lane.data) >= _HEADER.size:
        good, size = _HEADER.unpack_from(lane.data)
        end = _HEADER.size + size
        if len(lane.data) < end:
            break
        answer, lane.data = lane.data[_HEADER.size : end], lane.data[end:]
        if not lane.prepared:
            lane.prepared, lane.since = True, time.monotonic()
            continue
        piece = lane.batch.pieces[lane.at]
        lane.at, lane.since = lane.at + 1, time.monotonic()
        yield lane.batch.name, piece, answer if good else Lost(answer.decode("utf-8", "replace"))


def _ended(
    lane: _Lane, limits: Limits, left: deque[Batch]
) -> Iterator[tuple[str, str, bytes | Lost]]:
    """What a process that is over was at is lost; the rest of its batch waits for another one."""
    os.close(lane.pipe)
    _, status = os.waitpid(lane.process, 0)
    batch = lane.batch
    if lane.at == len(batch.pieces):
        return
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    late = number in (signal.SIGALRM, signal.SIGKILL)
    why = f"no answer within {limits.seconds} s" if late else f"died of signal {number}"
    end = lane.at + 1 if lane.prepared else len(batch.pieces)
    left.append(Batch(batch.name, batch.prepare, batch.pieces[end:]))
    for piece in batch.pieces[lane.at : end]:
        yield batch.name, piece, Lost(why)


def _kill_stuck(lanes: Iterable[_Lane], limits: Limits) -> None:
    for lane in lanes:
        if time.monotonic() - lane.since > limits.seconds + PATIENCE:
            os.kill(lane.process, signal.SIGKILL)


def _start(batch: Batch, limits: Limits, sandbox: isolate.Sandbox) -> _Lane:
    sys.stdout.flush()
    sys.stderr.flush()
    read, write = os.pipe()
    # An interrupt in the middle of forking would be swallowed by what runs there.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    parent = os.getpid()
    try:
        process = os.fork()
        if process == 0:
            _child(batch, limits, sandbox, write, parent)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.close(write)
    return _Lane(batch, process, read, time.monotonic())


def _child(
    batch: Batch, limits: Limits, sandbox: isolate.Sandbox, pipe: int, parent: int
) -> NoReturn:
    try:
        most = isolate.Limits.of(limits.seconds, limits.gigabytes)
        isolate.enter(most, sandbox, parent, pipe)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to answer: it ends its lanes
        _serve(batch, limits, pipe)
    finally:
        os._exit(0)


def _serve(batch: Batch, limits: Limits, pipe: int) -> None:
    """Say that all is prepared, then answer piece by piece."""
    try:
        work = batch.prepare()
    except Exception as error:
        reason = _sentence(error)
        for _ in range(len(batch.pieces) + 1):
            _tell(pipe, False, reason)
        return
    _tell(pipe, True, b"")
    for piece in batch.pieces:
        signal.alarm(limits.seconds)
        try:
            good, answer = True, work(piece)
        except Exception as error:
            good, answer = False, _sentence(error)
        _tell(pipe, good, answer)


def _sentence(error: Exception) -> bytes:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300].encode()


def _tell(pipe: int, good: bool, answer: bytes) -> None:
    rest = _HEADER.pack(good, len(answer)) + answer
    while rest:
        rest = rest[os.write(pipe, rest) :]
