"""A worker's memory is counted however it holds it."""

from __future__ import annotations

import mmap
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from graph_net.isolate.descendants import kill_all
from graph_net.measure.memory import group_bytes

SIZE = 64 << 20


@contextmanager
def holding(take: Callable[[], object]) -> Iterator[int]:
    """A process that has taken memory, and waits."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            held = take()
            os.write(writes, b"x")
            signal.pause()
            del held
        finally:
            os._exit(0)
    try:
        assert os.read(reads, 1) == b"x"
        yield child
    finally:
        kill_all([child])
        os.waitpid(child, 0)
        os.close(reads)
        os.close(writes)


def own() -> object:
    return bytearray(b"x") * SIZE


def shared() -> mmap.mmap:
    held = mmap.mmap(-1, SIZE)
    for place in range(0, SIZE, mmap.PAGESIZE):
        held[place] = 1
    return held


def two() -> object:
    if os.fork() == 0:
        signal.pause()
    return None


def shared_by_two() -> object:
    held = shared()
    reads, writes = os.pipe()
    if os.fork() == 0:
        os.write(writes, bytes([sum(held[:: mmap.PAGESIZE]) % 256]))
        signal.pause()
    os.read(reads, 1)
    return held


def test_memory_of_its_own_counts() -> None:
    with holding(lambda: None) as idle, holding(own) as holder:
        assert SIZE <= group_bytes(holder) - group_bytes(idle) < 1.5 * SIZE


def test_memory_that_it_could_share_counts() -> None:
    with holding(lambda: None) as idle, holding(shared) as holder:
        assert SIZE <= group_bytes(holder) - group_bytes(idle) < 1.5 * SIZE


def test_memory_that_two_of_a_group_share_counts_once() -> None:
    with holding(two) as idle, holding(shared_by_two) as pair:
        assert SIZE <= group_bytes(pair) - group_bytes(idle) < 1.5 * SIZE
