"""Threads of a measured process have cores of their own, in bench and in trials of programs."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_net.isolate import Limits
from graph_net.isolate.call import call
from graph_net.measure import placement as module
from graph_net.measure.device import describe
from graph_net.measure.placement import Placement, usable_cores
from graph_net.measure.task import WorkerContext
from graph_net.measure.worker import Worker
from graph_net.programs.collection.plan import PendingProgram
from graph_net.programs.collection.trial import Trial
from graph_net.programs.spaces import Built, Workload
from graph_net.results import Task, program_from_json
from measure.asking import QUICK, mine, task
from measure.some_compilers import PLACE

CORES = len(os.sched_getaffinity(0))
several = pytest.mark.skipif(CORES < 2, reason="there is one core")


@contextmanager
def worker() -> Iterator[int]:
    """A thread that waits; its id."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        yield thread.native_id or 0
    finally:
        done.set()
        thread.join()


def cores_of(thread: int = 0) -> set[int]:
    return os.sched_getaffinity(thread)


@several
def test_caller_and_worker_have_a_core_each_and_get_back_what_they_had() -> None:
    before = cores_of()
    placement = Placement(2)
    with worker() as thread:
        with placement:
            assert len(cores_of()) == len(cores_of(thread)) == 1
            assert not cores_of() & cores_of(thread)
            found = placement.describe()
            assert isinstance(found, dict)
            assert found["caller"] == [*cores_of()]
            assert {*cores_of(thread)} <= {*found["workers"]}  # type: ignore[misc]
        assert cores_of() == cores_of(thread) == before


@several
def test_a_run_of_one_thread_is_bound_to_a_core_too() -> None:
    with Placement(1):
        assert len(cores_of()) == 1
    assert len(cores_of()) == CORES


@several
def test_a_thread_that_starts_late_is_placed_the_next_time() -> None:
    before = cores_of()
    with Placement(2) as placement, worker() as thread:
        assert cores_of(thread) == cores_of(), "it has the core of who started it"
        placement.apply()
        assert not cores_of(thread) & cores_of()
    assert cores_of() == before


@several
def test_a_thread_that_was_bound_elsewhere_is_bound_there_again() -> None:
    placement = Placement(2)
    with worker() as thread:
        last = {usable_cores()[0]}
        os.sched_setaffinity(thread, last)
        with placement:
            assert cores_of() == last
            assert cores_of(thread) != last
        assert cores_of(thread) == last


@several
def test_a_pool_that_works_while_the_caller_waits_keeps_all_cores() -> None:
    before = cores_of()
    placement = Placement(2)
    with worker() as first, worker() as second, placement:
        assert len(cores_of()) == 1
        assert cores_of(first) == cores_of(second) == before
        with worker() as late:
            placement.apply()
            assert cores_of(late) == before, "not the one core of who started it"


@pytest.mark.parametrize(
    ("threads", "cores"), [(CORES + 1, usable_cores()), (1, (0,)), (4, (0, 1))]
)
def test_where_cores_do_not_suffice_nothing_is_bound(threads: int, cores: tuple[int, ...]) -> None:
    before = cores_of()
    with Placement(threads, cores) as placement:
        assert cores_of() == before
        assert placement.describe() == f"not placed: {threads} threads on {len(cores)} cores"
    assert cores_of() == before


def test_second_threads_of_a_core_come_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = ["0-1", "0-1", "2,3", "2,3"]
    for core, text in enumerate(pairs):
        (tmp_path / f"cpu{core}").write_text(text + "\n")
    monkeypatch.setattr(module, "_SIBLINGS", f"{tmp_path}/cpu{{}}")
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: {0, 1, 2, 3})
    assert usable_cores() == (2, 0, 3, 1)


def test_without_a_word_on_topology_every_core_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SIBLINGS", "/nowhere/{}")
    assert set(usable_cores()) == cores_of()


@several
def test_a_compilers_thread_and_the_calling_one_are_apart_while_calls_are_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PLACE, str(tmp_path))
    before = cores_of()
    once = replace(QUICK, warm_compile=False)
    asked = task(mine("Threaded"), device=describe("cpu", 2), protocol=once)
    record = Worker(asked, tmp_path / "work").run()
    assert record.failure is None, record.failure
    calls = [json.loads(line) for line in (tmp_path / "cores").read_text().splitlines()]
    assert calls[0] == [sorted(before), sorted(before)], "while it is checked nothing is bound"
    timed = [call for call in calls if call != calls[0]]
    assert timed
    assert all(len(a) == len(b) == 1 and a != b for a, b in timed)
    found = record.environment["placement"]
    assert isinstance(found, dict)
    assert found["caller"] == timed[-1][0]
    assert timed[-1][1][0] in found["workers"]  # type: ignore[operator]
    assert cores_of() == before


class Looks(Built):
    """A program whose times are the cores, counted from 1, of the caller and of its thread."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.done.wait, daemon=True)

    def start_threads(self) -> None:
        self.thread.start()

    def times(self, repeats: int) -> list[float]:
        found = [cores_of(), cores_of(self.thread.native_id or 0)]
        self.done.set()
        return [1.0 + core for cores in found for core in sorted(cores)]


class Anything:
    """As much of a space as a trial asks for."""

    def __init__(self, built: Built) -> None:
        self.built = built

    def build(self, schedule: str) -> Built:
        return self.built


def tried(built: Built, place: Path) -> tuple[float, ...]:
    space: Any = Anything(built)
    around = WorkerContext(place, lambda *_: None, lambda: None, time.monotonic)
    pending = PendingProgram(Workload("t", "t", "t", ""), "{}")
    program = program_from_json(Trial(space, Task("t", "t", "llvm"), pending).run(around))
    assert program.failure is None, program.failure
    return program.costs


@several
def test_a_programs_thread_and_the_calling_one_are_apart_while_a_trial_runs(tmp_path: Path) -> None:
    costs = tried(Looks(), tmp_path)
    assert len(costs) == 2, "one core each"
    assert costs[0] != costs[1]


class Watched(Built):
    """A program of TVM's; its times are the cores, counted from 1, of the caller and the pool."""

    def __init__(self, inner: Built) -> None:
        self.inner = inner

    def start_threads(self) -> None:
        self.inner.start_threads()

    def times(self, repeats: int) -> list[float]:
        self.inner.times(1)
        caller = threading.get_native_id()
        others = {int(name) for name in os.listdir("/proc/self/task")} - {caller}
        workers = set().union(*map(cores_of, others))
        assert others
        assert not cores_of() & workers, "the caller shares a core with the pool"
        return [1.0 + core for core in (*cores_of(), *workers)]


@several
def test_tvms_pool_and_the_calling_thread_are_apart_in_a_forked_trial(tmp_path: Path) -> None:
    tvm = pytest.importorskip("tvm", reason="needs apache-tvm")
    from graph_net.compilers.tvm_ready import load_intrinsics

    load_intrinsics()
    from tvm import te

    from graph_net.programs.spaces.metaschedule import MetaScheduleSpace, workload_of

    first = te.placeholder((64, 64), name="A")
    doubled = te.compute((64, 64), lambda i, j: first[i, j] * 2.0, name="B")
    module = tvm.IRModule({"main": te.create_prim_func([first, doubled])})
    space = MetaScheduleSpace(workload_of(module, "double"))
    schedule = next(space.sample(1, 0))
    found = call(lambda: tried(Watched(space.build(schedule)), tmp_path), Limits(120, 8 << 30))
    assert len(found) >= 2
    assert found[0] not in found[1:]
