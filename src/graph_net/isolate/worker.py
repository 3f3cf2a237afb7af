"""A forked, confined process that works on items one at a time; any item may kill it."""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from types import GeneratorType
from typing import Any, Generic, TypeVar

from graph_net.isolate.deaths import (
    Death,
    death_from,
    oom_kills,
    raised,
    took_longer,
    wrote_garbage,
    wrote_too_much,
)
from graph_net.isolate.descriptors import keep_only
from graph_net.isolate.fork import end, fork
from graph_net.isolate.limits import Limits
from graph_net.isolate.messages import MOST_TEXT, BadMessage, Inbox, encode, text_of
from graph_net.isolate.sandbox import Confinement, Needs, Sandbox, confine

MOST_ANSWER = 256 << 20
"""Bytes of a worker's answer to one item."""
PATIENCE = 5.0
"""Seconds between a process's own alarm and its kill, should it ignore the alarm."""

Item = TypeVar("Item")
Work = Callable[[Item], Any]
"""Returns JSON or bytes; the values of a generator are sent one by one."""


@dataclass(frozen=True)
class Batch(Generic[Item]):
    """Items for one worker; ``prepare``, called there once, returns the function for the items."""

    prepare: Callable[[], Work[Item]]
    items: tuple[Item, ...] = ()
    needs: Needs = field(default_factory=Needs)


@dataclass(frozen=True)
class Finished(Generic[Item]):
    """A finished item: its answers, and the death that cut it short, if any."""

    item: Item
    answers: tuple[Any, ...]
    death: Death | None
    seconds: float

    @property
    def answer(self) -> Any:
        """The last answer; None if there is no answer."""
        return self.answers[-1] if self.answers else None


class Retire(Exception):
    """Raised by work whose process must not be reused; its argument is the answer."""


class ForkedWorker(Generic[Item]):
    """A worker, as the process that forked it sees it."""

    def __init__(
        self, batch: Batch[Item], limits: Limits, sandbox: Sandbox, starting: int = 0
    ) -> None:
        self.batch, self.limits = batch, limits
        self.pending = deque(batch.items)
        """The item it is on, then the items that wait."""
        self.starting = starting
        """Extra seconds for preparation, and for the first item."""
        self.is_over = self.is_spent = False
        self._prepared = self._mute = False
        self._answers: list[Any] = []
        self._size, self._inbox = 0, Inbox()
        self._kills = oom_kills()
        self._fork(sandbox.needing(batch.needs))
        self.since = time.monotonic()

    def _fork(self, sandbox: Sandbox) -> None:
        self._reads, tells = os.pipe()
        listens, self._gives = os.pipe()

        def prepare() -> Work[Item]:
            enter(self.limits, sandbox, listens, tells)
            signal.alarm(self.limits.seconds + self.starting)
            return self.batch.prepare()

        def live() -> None:
            limit = self.limits.seconds
            _serve(prepare, self.batch.items, limit, self.starting, listens, tells)

        self.pid = fork(live)
        self._death = os.pidfd_open(self.pid)
        os.close(tells)
        os.close(listens)
        os.set_blocking(self._reads, False)

    def give(self, item: Item) -> None:
        """Send an item through the pipe; if the worker has died, the item is lost with it."""
        if not self.pending:
            self.since = time.monotonic()
        self.pending.append(item)
        data = memoryview(pickle.dumps(item))
        with suppress(BrokenPipeError):
            while data:
                data = data[os.write(self._gives, data) :]

    def descriptors(self) -> list[int]:
        """Return the descriptors to wait for: its messages, and its end."""
        return [self._death] if self._mute else [self._reads, self._death]

    def deadline(self) -> float:
        """Return the time at which it is killed unless it sends a message before."""
        return self.since + self.limits.seconds + self.starting + PATIENCE

    def receive(self) -> list[Finished[Item]]:
        """Return the items finished since the last call, without waiting for any."""
        finished: list[Finished[Item]] = []
        ended, data = _is_readable(self._death), self._read()
        self._size += len(data)
        try:
            for tree, blob in self._inbox.feed(data):
                finished += self._take(tree, blob)
        except (ValueError, KeyError, TypeError) as error:
            return finished + self._bury(wrote_garbage(text_of(error)[:200]))
        self._size = 0 if finished else self._size
        if self.is_over:
            return finished
        if self._size > MOST_ANSWER:
            return finished + self._bury(wrote_too_much(MOST_ANSWER))
        if ended and not data:
            return finished + self._bury(None)
        if self.pending and not finished and time.monotonic() > self.deadline():
            return self._bury(took_longer(self.limits.seconds))
        return finished

    def _read(self) -> bytes:
        try:
            data = b"" if self._mute else os.read(self._reads, 1 << 20)
        except BlockingIOError:
            return b""
        self._mute = not data
        return data

    def _take(self, tree: dict[str, Any], blob: bytes) -> list[Finished[Item]]:
        """Handle one message; raise BadMessage if it is invalid or not allowed now."""
        if self.is_over:
            return []
        if "error" in tree:
            kind, message = (str(text)[:MOST_TEXT] for text in tree["error"])
            death = raised(kind, message, self.limits.memory_bytes)
            return [self._finish(death)] if self._prepared else self._bury(death)
        if tree.get("prepared") and not self._prepared:
            self._prepared, self.since = True, time.monotonic()
            return []
        if not self._prepared or not self.pending:
            raise BadMessage("an answer, but nothing was asked")
        if "end" in tree:
            self.is_spent = bool(tree["end"])
            return [self._finish(None)]
        self._answers.append(blob if tree.get("bytes") else tree["answer"])
        return []

    def _finish(self, death: Death | None) -> Finished[Item]:
        if not self.pending:
            raise BadMessage("an answer, but nothing was asked")
        now = time.monotonic()
        item, seconds = self.pending.popleft(), now - self.since
        answers, self._answers, self.since, self.starting = tuple(self._answers), [], now, 0
        return Finished(item, answers, death, seconds)

    def _bury(self, verdict: Death | None) -> list[Finished[Item]]:
        """End it; the item it was on is lost, or all items if it died while preparing."""
        status = self.end()
        death = verdict or death_from(status, self.limits.seconds, self._kills)
        lost = min(1, len(self.pending)) if self._prepared else len(self.pending)
        return [self._finish(death) for _ in range(lost)]

    def end(self) -> int:
        """Kill it and its descendants; return its wait status."""
        self.is_over = True
        status = end(self.pid)
        for descriptor in (self._reads, self._gives, self._death):
            os.close(descriptor)
        return status


def _is_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def enter(limits: Limits, sandbox: Sandbox, *pipes: int) -> Confinement:
    """Confine this forked process, impose limits, and keep only these descriptors."""
    keep_only(pipes)
    confinement = confine(sandbox)
    limits.impose()
    return confinement


def _serve(
    prepare: Callable[[], Work[Item]],
    items: tuple[Item, ...],
    seconds: int,
    starting: int,
    listens: int,
    tells: int,
) -> None:
    """Prepare, report that, then work on items until the pipe closes."""
    try:
        work = prepare()
    except Exception as error:
        _tell(tells, {"error": [type(error).__name__, text_of(error)]})
        return
    _tell(tells, {"prepared": True})
    for item in chain(items, _read_items(listens)):
        signal.alarm(seconds + starting)
        message = _work_on(work, item, tells)
        signal.alarm(0)
        _tell(tells, message)
        if message.get("end"):
            return
        starting = 0


def _read_items(listens: int) -> Iterator[Any]:
    with os.fdopen(listens, "rb") as pipe, suppress(EOFError):
        while True:
            yield pickle.load(pipe)  # noqa: S301 - from the process that forked this one


def _work_on(work: Work[Any], item: Any, tells: int) -> dict[str, Any]:
    """Send the answers to one item; return the message that ends it."""
    try:
        try:
            result, last = work(item), False
        except Retire as retired:
            result, last = retired.args[0], True
        for answer in result if isinstance(result, GeneratorType) else (result,):
            if isinstance(answer, bytes):
                _tell(tells, {"bytes": True}, answer)
            else:
                _tell(tells, {"answer": answer})
    except Exception as error:
        return {"error": [type(error).__name__, text_of(error)]}
    return {"end": last}


def _tell(pipe: int, tree: dict[str, Any], blob: bytes = b"") -> None:
    """Write a message; waiting for the reader does not count towards the work's time."""
    data = memoryview(encode(tree, blob))
    left = signal.alarm(0)
    while data:
        data = data[os.write(pipe, data) :]
    signal.alarm(left)
