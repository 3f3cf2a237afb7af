"""The clock of choices, on a GPU whose time and whose host's time are counted, not measured."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from benchmarks.inductor_tuning import ATEN, BASE, Tuning, time_winners
from torch._inductor import config
from torch._inductor.runtime.benchmarking import benchmarker
from torch._inductor.select_algorithm import get_algorithm_selector_cache

import graph_net.inductor
from graph_net.programs.triton.target import H200
from graph_net.results import Json, canonical
from graph_net.search.inductor import plugin
from graph_net.search.inductor.case import KernelCase
from graph_net.search.inductor.collector import CPU, Collector, versions
from graph_net.search.inductor.hooks import hooked, timing_by
from graph_net.search.inductor.queued_timing import (
    FEWEST,
    HEAD_START,
    REPEATS,
    HostTime,
    QueuedClock,
    queued_timing,
)
from search.inductor.some_choices import some_model

WRITE = 70.0
"""Microseconds of a flush on the GPU; every call takes the host two."""
OWN = 0.5
"""Milliseconds by Inductor's own clock."""


class CountedGpu:
    """A queue of work behind a host: each has its own time, in microseconds."""

    def __init__(self) -> None:
        self.host = self.gpu = 0.0
        self.work: list[str] = []
        self.records_nothing = False
        self.captured: list[tuple[float, str]] | None = None

    def launch(self, host: float, gpu: float, name: str) -> None:
        """Queue work, or note it where a graph is recorded."""
        self.host += host
        if self.captured is not None:
            self.captured.append((gpu, name))
            return
        self.work.append(name)
        self.gpu = max(self.gpu, self.host) + gpu

    def synchronize(self) -> None:
        """Have the host wait for the GPU."""
        self.host = max(self.host, self.gpu)
        self.work.append("synchronize")

    def kernel(self, gpu: float, host: float = 10.0, waits: bool = False) -> Callable[[], None]:
        """Return a call with so many microseconds of each."""

        def run() -> None:
            self.launch(host, gpu, "call")
            if waits and self.mode == "error":
                raise RuntimeError("called a synchronizing CUDA operation")
            if waits:
                self.synchronize()

        return run

    mode: Any = 0

    def set_mode(self, mode: Any) -> None:
        """Note how torch treats calls that wait."""
        self.mode = mode


class CountedEvent:
    """A mark in the queue."""

    gpu: CountedGpu

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing
        self.at = math.nan

    def record(self) -> None:
        self.gpu.launch(2, 0, "event")
        self.at = self.gpu.gpu

    def query(self) -> bool:
        return self.at <= self.gpu.host

    def elapsed_time(self, end: CountedEvent) -> float:
        return (end.at - self.at) / 1e3


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> CountedGpu:
    """Put a counted GPU in the place of torch's."""
    counted = CountedGpu()

    class Flush:
        def zero_(self) -> None:
            counted.launch(2, WRITE, "write")

    class Graph:
        def __init__(self) -> None:
            self.work: list[tuple[float, str]] = []

        def replay(self) -> None:
            counted.launch(5, sum(gpu for gpu, _ in self.work), "replay")

    @contextmanager
    def graph(made: Graph, capture_error_mode: str) -> Iterator[None]:
        counted.captured = made.work
        yield
        counted.captured = None
        if counted.records_nothing:
            warnings.warn("The CUDA Graph is empty.", stacklevel=1)

    empty = torch.empty

    def make(*sizes: Any, **kind: Any) -> Any:
        return Flush() if kind.get("device") == "cuda" else empty(*sizes, **kind)

    monkeypatch.setattr(torch, "empty", make)
    monkeypatch.setattr(plugin, "this_machine", lambda: H200)
    monkeypatch.setattr(torch.cuda, "Event", type("Event", (CountedEvent,), {"gpu": counted}))
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    monkeypatch.setattr(torch.cuda, "synchronize", counted.synchronize)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: counted.mode)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", counted.set_mode)
    return counted


def own_clock(run: Callable[[], None], **options: Any) -> float:
    """Run a call as Inductor's own clock does."""
    run()
    return OWN


def test_all_repeats_are_queued_behind_writes_before_the_host_waits(gpu: CountedGpu) -> None:
    clock = QueuedClock(own_clock)
    assert clock(gpu.kernel(4)) == pytest.approx(0.004)
    queued = gpu.work[gpu.work.index("write") :]
    assert queued[:HEAD_START] == ["write"] * HEAD_START
    repeat = ["write", "event", "call", "event"]
    assert queued[HEAD_START:] == [*(repeat * REPEATS), "synchronize"]
    assert (clock.report.queued, clock.report.by_host) == (1, [])


def test_a_slow_launch_is_queued_behind_more_writes_and_fewer_times(gpu: CountedGpu) -> None:
    clock = QueuedClock(own_clock)
    assert clock(gpu.kernel(4, host=200)) == pytest.approx(0.004)
    queued = gpu.work[gpu.work.index("write") :]
    ends = [place for place, name in enumerate(queued) if name == "synchronize"]
    tries = [queued[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    assert len(tries) > 1
    calls, heads = zip(*((one.count("call"), one.count("write")) for one in tries), strict=True)
    assert list(calls) == sorted(calls, reverse=True)
    starts = [head - call for head, call in zip(heads, calls, strict=True)]
    assert starts == [HEAD_START << attempt for attempt in range(len(tries))]


def test_long_kernels_are_repeated_less(gpu: CountedGpu) -> None:
    clock = QueuedClock(own_clock)
    assert clock(gpu.kernel(20_000)) == pytest.approx(20)
    assert gpu.work[gpu.work.index("write") :].count("call") == FEWEST


def test_a_call_that_waits_for_the_gpu_has_inductors_own_time(gpu: CountedGpu) -> None:
    for records in (False, True):
        clock = QueuedClock(own_clock, records=records)
        taken = clock(gpu.kernel(4, waits=True))
        assert isinstance(taken, HostTime)
        assert taken == OWN
        assert clock.report.by_host == ["the GPU always waited for the host"]
        assert gpu.mode == 0  # as it was


def test_what_launches_too_slowly_is_recorded_where_that_is_allowed(gpu: CountedGpu) -> None:
    slow = gpu.kernel(4, host=5_000)
    assert isinstance(QueuedClock(own_clock)(slow), HostTime)
    clock = QueuedClock(own_clock, records=True)
    assert clock(slow) == pytest.approx(0.004)
    assert (clock.report.queued, clock.report.recorded) == (0, 1)
    gpu.records_nothing = True  # its launches name another stream
    assert isinstance(clock(slow), HostTime)


def test_what_fails_is_left_to_inductors_own_clock(
    gpu: CountedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise MemoryError("out of resources")

    clock = QueuedClock(own_clock)
    with pytest.raises(MemoryError):
        clock(broken)  # as Inductor's own raises it
    assert math.isinf(QueuedClock(lambda run, **_: math.inf)(broken))
    assert clock.report.by_host == []
    monkeypatch.setattr(torch, "empty", lambda *_, **__: broken())
    assert clock(gpu.kernel(4)) == OWN
    assert clock.report.by_host == ["MemoryError: out of resources"]


@pytest.mark.parametrize(
    "options",
    [{"return_mode": "all"}, {"grad_to_none": []}, {"quantiles": (0.5,)}, {"device_type": "xpu"}],
)
def test_what_asks_for_more_than_a_time_gets_inductors_own(
    gpu: CountedGpu, options: dict[str, Any]
) -> None:
    taken = QueuedClock(own_clock)(gpu.kernel(4), **options)
    assert (taken, type(taken)) == (OWN, float)
    assert gpu.work == ["call"]


@pytest.mark.parametrize(
    "patched",
    [{"autotune_in_subproc": True}, {"max_autotune_gemm_backends": "ATEN,CUTLASS"}],
)
def test_where_another_process_times_choices_both_use_one_clock(
    gpu: CountedGpu, patched: dict[str, Any]
) -> None:
    with config.patch(**patched):
        assert QueuedClock(own_clock)(gpu.kernel(4), device_type="cuda") == OWN
    assert QueuedClock(own_clock)(gpu.kernel(4), device_type="cuda") == pytest.approx(0.004)


def test_inductor_asks_the_clock_while_a_model_is_inside(gpu: CountedGpu) -> None:
    run = gpu.kernel(4)
    with timing_by(lambda own: own_clock):
        with graph_net.inductor.learned(some_model()) as report:
            # As choices of Triton and of ATen are timed: 2.13 by the first, 2.11 by either.
            assert benchmarker.benchmark(run, device="cuda") == pytest.approx(0.004)
            assert benchmarker.benchmark_gpu(run) == pytest.approx(0.004)
            kept = benchmarker.benchmark_gpu
        assert report.clock.queued == 2
        assert benchmarker.benchmark_gpu is own_clock
        assert kept(run) == OWN  # what held on to it has Inductor's clock again
    assert "benchmark_gpu" not in vars(benchmarker)


def test_an_exception_restores_inductors_clock(gpu: CountedGpu) -> None:
    def compile_and_fail() -> None:
        with graph_net.inductor.learned(some_model()):
            assert isinstance(benchmarker.benchmark_gpu, QueuedClock)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        compile_and_fail()
    assert "benchmark_gpu" not in vars(benchmarker)


def test_a_process_with_a_model_keeps_the_clock(
    gpu: CountedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(get_algorithm_selector_cache(), "preprocessing_fns", [])
    monkeypatch.setenv(plugin.CACHE, "unused")
    with timing_by(lambda own: own_clock), config.patch(inductor_choices_class=None):
        graph_net.inductor.enable(some_model())
        make: Any = config.inductor_choices_class
        first, second = make(), make()  # one for each thread that compiles
        assert benchmarker.benchmark_gpu(gpu.kernel(4)) == pytest.approx(0.004)
        assert (first.report.clock.queued, second.report.clock.queued) == (1, 0)


def test_without_a_gpu_inductor_keeps_its_clock() -> None:
    with queued_timing() as clock, graph_net.inductor.learned(some_model()):
        assert clock is None
        assert "benchmark_gpu" not in vars(benchmarker)
    assert benchmarker.benchmark(lambda: None, device="cpu") >= 0


def test_a_time_that_may_be_the_hosts_is_marked_in_the_journal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module: dict[str, Json] = {
        "kernel": "batched_matmul",
        "b": 4,
        "m": 32,
        "n": 64,
        "k": 96,
        "dtype": "bfloat16",
    }
    case = KernelCase(canonical({**module, "epilogue": "none", "transposed": False}), False)
    collector = Collector("cpu", CPU, versions())
    for time in (HostTime(OWN), OWN):
        monkeypatch.setattr(benchmarker, "benchmark_cpu", lambda *_, time=time, **__: time)
        with hooked(collector.save):
            [found] = collector.measure([case])
        assert {choice.by_host for choice in found.choices} == {isinstance(time, HostTime)}


def test_winners_are_compared_by_the_gpus_time(gpu: CountedGpu) -> None:
    fast, slow = gpu.kernel(4, host=60), gpu.kernel(12)
    base = Tuning(runs={"x": slow}, aten={"x": fast}, names={"x": "tile"})
    learned = Tuning(runs={"x": fast}, names={"x": ATEN})
    times = time_winners("x", {BASE: base, "learned": learned})
    assert times == pytest.approx({BASE: 0.012, "learned": 0.004, ATEN: 0.004})
