"""The worker processes of a layout collection: rewrite graphs without data, or time them alone."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.configs.layouts.call_features import call_rows
from graph_net.configs.layouts.copies import CopyKind
from graph_net.configs.layouts.layout_config import read_layout
from graph_net.configs.layouts.rewrite import LayoutRewriter, quiet
from graph_net.configs.layouts.sites import LayoutError
from graph_net.graph import from_bytes, to_bytes
from graph_net.measure.placement import Placement, place_threads
from graph_net.results import Failure, Json, Stage, Symptom

if TYPE_CHECKING:
    from graph_net.configs.layouts.layout_arms import GraphArms

QUICK_TRIES = 4
MOST_RESERVED = 32 << 30
"""Bytes of GPU memory that a process may keep between turns."""
POISONED = 3
"""Exit status of a process whose GPU has failed."""
RESERVED = 2
"""Arms of the original per turn: its own times, and the control."""


@dataclass(frozen=True)
class WorkerSettings:
    """The settings of every process of a collection."""

    graphs: tuple[bytes, ...]
    device: str
    compiler: str = "eager"
    threads: int = 1
    workdir: Path = Path()
    most_seconds: float = math.inf
    """Longest original in seconds; a graph that takes longer is left out."""
    with_calls: bool = False
    """Whether rewriting also gives the features of every call."""


@dataclass(frozen=True)
class TurnItem:
    """Layouts of one graph to rewrite or to time."""

    graph: int
    schedules: tuple[str, ...]
    rewritten: tuple[bytes, ...] = ()
    repeats: int = 10
    seed: int = 0


def rewriter(settings: WorkerSettings) -> Callable[[], Callable[[TurnItem], Iterator[Any]]]:
    """Return a maker of rewriters, which yield for each layout the facts, then the bytes.

    The bytes are those of the graph, then those of the rows of its calls if they are asked for.
    """

    def make() -> Callable[[TurnItem], Iterator[Any]]:
        @lru_cache(maxsize=2)
        def open_graph(number: int) -> LayoutRewriter:
            return LayoutRewriter(from_bytes(settings.graphs[number]), settings.device)

        def rewrite(item: TurnItem) -> Iterator[Any]:
            with quiet():
                try:
                    opened = open_graph(item.graph)
                    _ = opened.original
                except LayoutError as error:
                    yield {"unusable": str(error)[:300]}
                    return
                for schedule in item.schedules:
                    yield from _rewrite(opened, schedule, settings)

        return rewrite

    return make


def _rewrite(opened: LayoutRewriter, schedule: str, settings: WorkerSettings) -> Iterator[Any]:
    try:
        made = opened.apply(read_layout(schedule, opened.sites))
        copies = made.copies
        facts: dict[str, Json] = {
            str(kind): [copies.count(kind), copies.bytes(kind)] for kind in CopyKind
        }
        data = to_bytes(made.graph)
        rows = call_rows(made.calls).tobytes() if settings.with_calls else b""
        if settings.compiler != "eager":
            _compile_ahead(opened, made.graph, settings)
    except LayoutError as error:
        yield {"failure": asdict(Failure(Stage.COMPILE, Symptom.UNSUPPORTED, str(error)[:300]))}
        return
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:300]
        yield {"failure": asdict(Failure(Stage.COMPILE, Symptom.EXCEPTION, text))}
        return
    yield {"facts": facts}
    yield data
    if settings.with_calls:
        yield rows


def _compile_ahead(opened: LayoutRewriter, graph: Any, settings: WorkerSettings) -> None:
    """Compile here, beside others, so that the measuring process finds the result in the caches."""
    from graph_net.configs.layouts.layout_arms import GraphArms

    arms = GraphArms(opened.graph, settings.device, "eager", settings.threads, settings.workdir)
    arms.compiler = settings.compiler
    arms.function(graph, "layout")


def timer(settings: WorkerSettings) -> Callable[[], Callable[[TurnItem], Iterator[Any]]]:
    """Return a maker of timers, which time the layouts of a turn beside the original."""
    return lambda: TimingWorker(settings).measure


class TimingWorker:
    """A process that times: its clock, its threads, and the graph that it is on."""

    def __init__(self, settings: WorkerSettings) -> None:
        import torch

        from graph_net.configs.layouts.layout_timing import CudaRounds

        self.settings, self.on_cpu = settings, settings.device == "cpu"
        self.placement = Placement(settings.threads)
        torch.set_num_threads(settings.threads if self.on_cpu else 1)
        self.clock = None if self.on_cpu else CudaRounds()
        self.open_arms = lru_cache(maxsize=1)(self._open_arms)

    def _open_arms(self, number: int) -> GraphArms:
        from graph_net.configs.layouts.layout_arms import GraphArms

        own = self.settings
        arms = GraphArms(
            from_bytes(own.graphs[number]), own.device, own.compiler, own.threads, own.workdir
        )
        _require_quick(arms, own.most_seconds)
        return arms

    @contextmanager
    def placed(self) -> Iterator[Callable[[], None]]:
        """Bind this process's threads, and yield what binds them again."""
        import torch

        with (
            place_threads(self.placement, self.settings.device, {}) as place,
            torch.inference_mode(),
        ):
            yield place

    def measure(self, item: TurnItem) -> Iterator[Any]:
        """Yield a line for each layout as it is reached, then the times of all."""
        from graph_net.configs.layouts.layout_timing import CpuRounds

        with self.placed() as place:
            turn = TurnTimer(self.open_arms(item.graph), self.clock or CpuRounds(place))
            yield from turn.run(item)
        del turn
        free_memory(self.settings.device)


def _require_quick(arms: Any, most_seconds: float) -> None:
    """Raise LayoutError if even the fastest of a few runs of the original takes too long."""
    call, took = arms.function(arms.graph), math.inf
    for _ in range(QUICK_TRIES):
        begin = time.monotonic()
        arms.check(call)
        took = min(took, time.monotonic() - begin)
        if took <= most_seconds:
            return
    raise LayoutError(f"the original takes {took:.3f} s; {most_seconds:g} s are allowed")


def free_memory(device: str) -> None:
    """Return memory to the GPU; exit this process if the GPU has become unusable."""
    if device == "cpu":
        return
    import torch

    try:
        torch.cuda.synchronize()
        if torch.cuda.memory_reserved() > MOST_RESERVED:
            torch.cuda.empty_cache()
    except Exception:
        os._exit(POISONED)  # it will be replaced; its answers so far are kept


class TurnTimer:
    """Builds and checks the functions of a turn, then times them all together."""

    def __init__(self, arms: Any, clock: Any) -> None:
        self.arms, self.clock = arms, clock

    def run(self, item: TurnItem) -> Iterator[dict[str, Any]]:
        """Yield a line for each layout as it is reached, then the times of all."""
        own = self.arms.function(self.arms.graph)
        with self.clock.beside():
            self.arms.check(own)
        original = self.clock.ready(own)
        calls: list[Any] = [original] * RESERVED
        known: list[dict[str, Any]] = []
        for number, data in enumerate(item.rewritten):
            yield {"at": number}
            known.append(self._prepare(data, calls))
        order = random.Random(item.seed)  # noqa: S311 - an order, not a secret
        yield {"at": len(item.rewritten)}
        times = self.clock.rounds(calls, item.repeats, order)
        yield {"results": _with_times(known, times.seconds), "control": times.seconds[0],
               "second": times.seconds[1], "remarks": dict(times.remarks)}  # fmt: skip

    def _prepare(self, data: bytes, calls: list[Any]) -> dict[str, Any]:
        """Add a layout's function to the timed ones, or return its failure."""
        from graph_net.configs.layouts.layout_arms import failure_of

        try:
            call = self.arms.function(from_bytes(data), "layout")
            with self.clock.beside():
                error = self.arms.check(call)
            calls.append(self.clock.ready(call))
        except Exception as problem:
            failure = failure_of(problem)
            if failure.symptom is Symptom.EXCEPTION:
                free_memory(self.arms.device)
            return {"failure": asdict(failure)}
        return {"arm": len(calls) - 1, "error": error}


def _with_times(
    known: Sequence[dict[str, Any]], seconds: Sequence[Sequence[float]]
) -> list[dict[str, Any]]:
    return [
        {"costs": list(seconds[one["arm"]]), "error": one["error"]} if "arm" in one else one
        for one in known
    ]
