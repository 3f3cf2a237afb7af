"""Compile by one mode of Inductor with empty caches, and time the winners of several in turns."""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from graph_net.search.inductor.collector import QUEUED, versions
from graph_net.search.inductor.compile_pool import one_assembler, two_assemblers
from graph_net.search.inductor.families import FLEX
from graph_net.search.inductor.finals import finals
from graph_net.search.inductor.hooks import hooked
from graph_net.search.inductor.plugin import learned
from graph_net.search.inductor.queued_timing import HostTime, QueuedClock, queued_timing
from graph_net.search.inductor.reading import (
    is_aten,
    is_flex_attention,
    read_call,
    read_choice,
)
from graph_net.search.inductor.template_call import TemplateCall, key_of
from graph_net.search.inductor.timed_call import TimedCall, timed_to_json

ROUNDS, REPLAYS = 3, 20
BASE, ATEN = "max-autotune", "aten"
STOCK = "stock"
"""max-autotune with the assemblers as torch sets them up; all other modes use one."""
CLOCK = "clock"
"""max-autotune with the clock of the learned choices, without a model."""
QUIET: dict[str, Any] = {
    "fx_graph_cache": False,
    "autotune_num_choices_displayed": 0,
    "max_autotune_report_choices_stats": False,
}


@dataclass
class Tuning:
    """What one compilation cost, and which choice won for each operation."""

    compiling: float = 0.0
    """Seconds of compiling choices, as Inductor waits for it."""
    timing: float = 0.0
    """Seconds of timing choices."""
    wall: float = 0.0
    """Of all of compiling."""
    choices: int = 0
    began: float = 0.0
    runs: dict[str, Callable[[], Any]] = field(default_factory=dict)
    aten: dict[str, Callable[[], Any]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    offered: list[tuple[TemplateCall, str, list[Any], Sequence[Any]]] = field(default_factory=list)
    """The choices of each operation, and its nodes."""
    single: list[Any] = field(default_factory=list)
    """Choices of flex attention, the only ones of their operation: Inductor times none of them."""

    def stop(self) -> None:
        """Note what was spent, before anything else is done with the caches of this compilation."""
        import torch
        from torch._dynamo.utils import compilation_time_metrics as metrics

        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.wall = time.perf_counter() - self.began
        self.compiling, self.timing = (
            sum(sum(spent) for name, spent in metrics.items() if name.endswith(part))
            for part in ("_template_precompiling", "_template_autotuning")
        )
        for choice in self.single:
            self._keep(read_call(FLEX, choice.input_nodes), choice, choice.input_nodes)

    def cost(self) -> dict[str, float]:
        """Return seconds and choices, as a journal has them; tuning is compiling and timing."""
        return {
            "tuning": self.compiling + self.timing,
            "compiling": self.compiling,
            "timing": self.timing,
            "wall": self.wall,
            "choices": self.choices,
        }

    def note_single(self, choices: list[Any]) -> list[Any]:
        """Note a choice that is left alone; the last preprocessing function of Inductor."""
        if len(choices) == 1 and is_flex_attention(str(choices[0].name)):
            self.single += choices
        return choices

    def _keep(self, call: TemplateCall | None, best: Any, nodes: Sequence[Any]) -> str | None:
        """Keep the winner of an operation, ready to run; return the operation's key."""
        if call is None or call.module is None:
            return None
        key = key_of(call.module)
        self.runs[key], self.names[key] = runnable(best, nodes), str(best.hash_key())
        return key

    def save(self, timings: dict[Any, float], name: str, nodes: Any, *rest: Any) -> None:
        """Note the winner of an operation, ready to run; a feedback saver of Inductor."""
        self.choices += len(timings)
        call = read_call(name, nodes, list(timings))
        ready = {one: spent for one, spent in timings.items() if can_run(one)}
        key = self._keep(call, min(ready, key=ready.__getitem__), nodes) if ready else None
        if call is None or key is None:
            return
        self.offered.append((call, key, list(timings), nodes))
        libraries = [one for one in ready if is_aten(one) and one.name != "bias_addmm"]
        if libraries:
            self.aten[key] = runnable(libraries[0], nodes)


def can_run(choice: Any) -> bool:
    """Return whether a choice runs on tensors like its nodes; C++ templates read packed weights."""
    from torch._inductor.select_algorithm import DataProcessorChoiceCallerWrapper

    return hasattr(choice, "bmreq") and not isinstance(choice, DataProcessorChoiceCallerWrapper)


def runnable(choice: Any, nodes: Sequence[Any]) -> Callable[[], Any]:
    """Return a choice with tensors to run it on, as Inductor's own timing makes them."""
    import torch

    layout = choice.layout

    def tensor(sizes: Any, strides: Any, dtype: Any) -> Any:
        sizes, strides = [int(size) for size in sizes], [int(stride) for stride in strides]
        last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
        return torch.randn(last + 1, device=layout.device).to(dtype).as_strided(sizes, strides)

    read = [*(nodes if is_aten(choice) else {node.get_name(): node for node in nodes}.values())]
    inputs = [tensor(node.get_size(), node.get_stride(), node.get_dtype()) for node in read]
    fill_mask([one for one in inputs if one.dtype == torch.int32])
    out = tensor(layout.size, layout.stride, layout.dtype)
    run: Callable[[], Any] = choice.bmreq.make_run_fn(*inputs, out=out)
    run()
    return run


def fill_mask(blocks: Sequence[Any]) -> None:
    """Fill the mask of flex attention in place: the numbers of partial blocks of each block of
    queries, their indices, and the same of full blocks, as a causal mask has them.

    One block of queries reads one block, which is partial.
    """
    import torch

    for place, one in enumerate(blocks):
        rows = torch.arange(one.shape[2], dtype=torch.int32, device=one.device)
        is_partial, is_count = place < 2, one.dim() == 3
        if is_count:
            one.copy_((torch.ones_like(rows) if is_partial else rows).expand_as(one))
        elif is_partial:
            one.copy_(rows[:, None].expand_as(one))
        else:
            columns = torch.arange(one.shape[3], dtype=torch.int32, device=one.device)
            one.copy_(columns.expand_as(one))


@contextmanager
def clock_alone() -> Iterator[None]:
    """Time all of Inductor's choices as the learned ones are timed."""
    with queued_timing(), finals():
        yield


@contextmanager
def tuned(mode: str, model: Any) -> Iterator[Tuning]:
    """Compile as a mode does, with empty caches; the compilation is timed."""
    from torch._dynamo.utils import compilation_time_metrics as metrics
    from torch._inductor.utils import fresh_cache

    found = Tuning()
    asked = {
        "learned": learned(model),
        "widened": learned(model, widened=True),
        CLOCK: clock_alone(),
    }
    folder = tempfile.mkdtemp(prefix="inductor-")
    with ExitStack() as stack:
        stack.enter_context(two_assemblers() if mode == STOCK else one_assembler())
        stack.enter_context(fresh_cache(dir=folder, delete=False))
        stack.enter_context(asked.get(mode, nullcontext()))
        stack.enter_context(hooked(found.save, found.note_single))
        metrics.clear()
        found.began = time.perf_counter()
        yield found
        if not found.wall:
            found.stop()


def options(mode: str, device: str = "cuda") -> dict[str, Any]:
    """Return Inductor's options of a mode."""
    own = {"default": {}, "autoheuristic": {"max_autotune": True, "autoheuristic_use": "mm"}}
    cpu = {"max_autotune_gemm_backends": "ATEN,CPP", "freezing": True}
    return {**QUIET, **own.get(mode, {"max_autotune": True}), **(cpu if device == "cpu" else {})}


def winners_clock() -> Callable[..., float]:
    """Return the clock that all modes are compared by: on a GPU its own time, not the host's."""
    import torch
    from torch._inductor.runtime.benchmarking import benchmarker

    if not torch.cuda.is_available():
        return benchmarker.benchmark_cpu
    return QueuedClock(benchmarker.benchmark_gpu, records=True)


def time_winners(key: str, shown: dict[str, Tuning]) -> dict[str, float]:
    """Return the milliseconds of each mode's winner, equal winners measured once."""
    timing, base = winners_clock(), shown[BASE]
    runs = {base.names.get(key, ATEN): base.runs.get(key), ATEN: base.aten.get(key)}
    for one in shown.values():
        runs.setdefault(one.names.get(key, ATEN), one.runs.get(key))
    taken: dict[str, list[float]] = {name: [] for name, run in runs.items() if run is not None}
    for turn in range(ROUNDS):
        names = list(taken)
        for name in names if turn % 2 == 0 else reversed(names):
            taken[name].append(timing(runs[name]))
            if isinstance(taken[name][-1], HostTime):
                print(f"{key}: {name} may have the host's time", file=sys.stderr, flush=True)
    times = {name: median(values) for name, values in taken.items()}
    found = {mode: times.get(one.names.get(key, ATEN), math.nan) for mode, one in shown.items()}
    return {**found, ATEN: times.get(ATEN, math.nan)}


def time_offered(tuning: Tuning, gpu: str) -> Iterator[str]:
    """Yield a line for each operation: all its choices, timed again by the GPU's own clock.

    Inside ``tuned``: the caches that hold the kernels are emptied at its end.
    """
    timing, software = winners_clock(), {**versions(), "clock": QUEUED}
    for call, key, choices, nodes in tuning.offered:
        found = []
        for choice in choices:
            try:
                spent = timing(runnable(choice, nodes)) if can_run(choice) else None
            except Exception as error:
                print(f"{key}: {type(error).__name__}: {error}"[:200], file=sys.stderr, flush=True)
                spent = None
            found.append(read_choice(choice, spent, None))
        yield timed_to_json(TimedCall(call, tuple(found), gpu, software, key))


def replay(compiled: Any, inputs: Sequence[Any]) -> Callable[[], Any]:
    """Return a call of a compiled graph without the time of the host, where it can be recorded."""
    import torch

    def call() -> Any:
        with torch.inference_mode():
            return compiled(*inputs)

    try:
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        with torch.cuda.stream(side):
            for _ in range(3):
                call()
        torch.cuda.synchronize()
        recorded = torch.cuda.CUDAGraph()
        with torch.cuda.graph(recorded):
            call()
        torch.cuda.synchronize()
    except Exception as error:
        print(f"not recorded: {error}", file=sys.stderr)
        return call
    return recorded.replay


def elapsed(run: Callable[[], Any]) -> float:
    """Return the milliseconds of a call, of many in a row."""
    import torch

    make: Any = torch.cuda.Event
    begin, end = (make(enable_timing=True) for _ in range(2))
    run()
    begin.record()
    for _ in range(REPLAYS):
        run()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / REPLAYS
