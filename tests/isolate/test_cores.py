"""Cores are kept for who measures, and whole processes are moved to them."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from graph_net.isolate.cores import Cores, move, threads_of
from graph_net.isolate.descendants import descendants

THREADED = """
import subprocess, sys, threading
for _ in range(3):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
subprocess.Popen(["sleep", "600"])
print("ready", flush=True)
threading.Event().wait()
"""


def test_a_quarter_of_the_cores_is_kept_and_at_most_four() -> None:
    assert Cores.divide(range(16)) == Cores(frozenset({12, 13, 14, 15}), frozenset(range(12)))
    assert Cores.divide(range(100)).measuring == frozenset({96, 97, 98, 99})
    assert Cores.divide([3, 1, 5, 7]) == Cores(frozenset({7}), frozenset({1, 3, 5}))


def test_where_cores_are_few_all_are_everybodys() -> None:
    assert Cores.divide([0, 1]) == Cores(frozenset({0, 1}), frozenset({0, 1}))


def test_the_cores_are_those_this_process_may_use() -> None:
    mine = os.sched_getaffinity(0)
    found = Cores.divide()
    assert found.measuring | found.others == mine


def test_every_thread_of_a_process_and_of_its_children_is_moved() -> None:
    core = max(os.sched_getaffinity(0))
    process = subprocess.Popen([sys.executable, "-c", THREADED], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        move(process.pid, {core})
        family = descendants(process.pid)
        threads = [thread for pid in family for thread in threads_of(pid)]
        assert len(family) == 2
        assert len(threads) == 5
        assert {frozenset(os.sched_getaffinity(thread)) for thread in threads} == {
            frozenset({core})
        }
    finally:
        for pid in reversed(descendants(process.pid)):
            os.kill(pid, 9)
        process.wait()
        process.stdout.close()


def test_a_process_that_has_ended_is_no_error() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    while process.poll() is None:
        time.sleep(0.01)
    move(process.pid, {0})
