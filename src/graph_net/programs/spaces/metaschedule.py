"""``metaschedule``: the design space of TVM's MetaSchedule for a function, on a CPU.

A schedule is a trace with its decisions, as MetaSchedule's databases store it. Replayed on the same
function, it gives the same program.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from graph_net.compilers.silence import silent
from graph_net.compilers.tvm import tvm_target
from graph_net.compilers.tvm_ready import load_intrinsics
from graph_net.measure.contention import time_alone
from graph_net.programs.spaces.space import Built, Space, SpaceError, Workload
from graph_net.programs.spaces.traces import mutate_trace, parse_trace, programs_of
from graph_net.programs.spaces.tvm_gauge import trial_gauge
from graph_net.results import canonical

if TYPE_CHECKING:
    import numpy as np

FLUSH = "cache_flush_cpu_non_first_arg"
"""The flush that TenSet and TVM's runners use: evicts every argument but the first."""
_BIG_CORES = 1
"""TVM's number for its default choice of cores."""
SLOW, SLOW_REPEATS = 0.01, 3
"""Runs of at least this many seconds are repeated fewer times."""
GAUGED, GAUGED_REPEATS = 0.05, 5
"""Longest run in seconds for which the gauge is used, and the number of runs then."""
COUNTED = 4
"""Draws counted per sketch; their extents, and so the counts, are nearly equal."""


def workload_of(module: Any, name: str) -> Workload:
    """Return a TVM function as a workload, with the hash that MetaSchedule's databases use."""
    from tvm.s_tir.analysis import estimate_tir_flops
    from tvm.s_tir.meta_schedule.database import Workload as Stored
    from tvm.s_tir.meta_schedule.tune_context import _normalize_mod

    module = _normalize_mod(module)
    number, text = Stored(module).as_json()
    return Workload("metaschedule", name, str(number), str(text), float(estimate_tir_flops(module)))


class MetaScheduleSpace(Space):
    """The programs of a function for an LLVM target."""

    name = "metaschedule"

    def __init__(self, workload: Workload, target: str = "") -> None:
        import tvm

        load_intrinsics()
        self.workload = workload
        try:
            self._target = tvm.target.Target(json.loads(target)) if target else tvm_target(cores())
        except (ValueError, TypeError) as error:
            raise SpaceError(f"not a target of TVM: {target[:200]}") from error
        self.target = str(self._target)

    @property
    def tvm_target(self) -> Any:
        """TVM's target object."""
        return self._target

    @cached_property
    def module(self) -> Any:
        """The unscheduled function."""
        from tvm.s_tir.meta_schedule.database import Workload as Stored

        try:
            return Stored.from_json([self.workload.hash, self.workload.module]).mod
        except (RuntimeError, ValueError) as error:
            raise SpaceError(f"{self.workload.name} holds no module of TVM") from error

    @cached_property
    def _context(self) -> Any:
        from tvm.s_tir import meta_schedule

        return meta_schedule.TuneContext(
            self.module,
            target=self._target,
            space_generator="post-order-apply",
            search_strategy="replay-trace",
            task_name=self.workload.name,
            rand_state=1,
            num_threads=1,
        )

    @cached_property
    def _sketches(self) -> list[Any]:
        """The sketches: traces whose decisions are open."""
        with silent():
            schedules = self._context.generate_design_space()
        return [schedule.trace for schedule in schedules]

    def ready(self) -> None:
        """Unpack the module, and import what TVM would import while timing (numpy's median)."""
        import_module("numpy.ma")
        _ = self.module

    def count(self) -> float:
        """Return the product of all choices over all sketches; some give the same program."""
        total = 0.0
        for number in range(len(self._sketches)):
            drawn = [self.draw(number + 1 + len(self._sketches) * k) for k in range(COUNTED)]
            total += max((programs_of(parse_trace(text)) for text in drawn if text), default=0.0)
        return total

    def draw(self, seed: int) -> str | None:
        """Return a sketch with random decisions, after MetaSchedule's postprocessing."""
        from tvm.s_tir.schedule import Trace as Sketch

        sketch = self._sketches[(seed - 1) % len(self._sketches)]
        schedule = self._fresh(seed)
        return self._finished(
            schedule,
            lambda: Sketch(sketch.insts, {}).apply_to_schedule(schedule, remove_postproc=True),
        )

    def mutate(self, schedule: str, seed: int) -> str | None:
        """Change one decision: move a prime factor, take another choice or another location."""
        from tvm.s_tir.schedule import Trace as Sketch

        changed = mutate_trace(parse_trace(schedule), random.Random(seed))  # noqa: S311
        if changed is None:
            return None
        fresh = self._fresh(1)
        mutated = self._finished(fresh, lambda: Sketch.apply_json_to_schedule(changed, fresh))
        return None if mutated == schedule else mutated

    def _fresh(self, seed: int) -> Any:
        from tvm.s_tir.schedule import Schedule

        return Schedule(self.module, seed=seed, error_render_level="none")

    def _finished(self, schedule: Any, decide: Any) -> str | None:
        """Decide and postprocess; return the trace, or None if that fails."""
        with silent():
            try:
                decide()
                schedule.enter_postproc()
                if not all(
                    step.apply(schedule) for step in self._context.space_generator.postprocs
                ):
                    return None
            except Exception:  # TVM's errors have no other common class
                return None
        return trace_text(schedule)

    def schedule(self, schedule: str) -> Any:
        """Return TVM's Schedule of a trace; SpaceError if the trace does not fit this function."""
        from tvm.s_tir.schedule import Trace as Sketch

        trace = parse_trace(schedule)
        replayed = self._fresh(1)
        with silent():
            try:
                Sketch.apply_json_to_schedule(trace, replayed)
            except Exception as error:
                why = (str(error).strip().splitlines() or [""])[-1][:200]
                raise SpaceError(f"no schedule of {self.workload.name}: {why}") from error
        return replayed

    def wrong(self, schedule: str) -> str | None:
        """Return the error of replaying a schedule; traces drawn or mutated here have none."""
        try:
            self.schedule(schedule)
        except SpaceError as error:
            return str(error)
        return None

    def encode(self, schedule: str) -> np.ndarray:
        """Return the primitives and their numbers, as in TLP."""
        from graph_net.programs.spaces.primitives import encode_trace

        return encode_trace(schedule)

    def encode_many(self, schedules: Sequence[str]) -> np.ndarray:
        from graph_net.programs.spaces.primitives import encode_traces

        return encode_traces(schedules)

    def computation(self) -> str:
        """Return the function as TVMScript."""
        return _script(self.module)

    def code(self, schedule: str) -> str:
        """Return the scheduled function as TVMScript."""
        return _script(self.schedule(schedule).mod)

    def steps(self, schedule: str) -> str:
        """Return the decisions as calls of TVM's schedule."""
        return str(self.schedule(schedule).trace.simplified(True))

    def assembly(self, schedule: str) -> str:
        """Return the machine code that LLVM makes for the target, as text; nothing is run."""
        from tvm.s_tir.meta_schedule.builder.local_builder import default_build

        with silent():
            library = default_build(self.schedule(schedule).mod, self._target, None)
        return str(library.inspect_source("asm"))

    def build(self, schedule: str) -> Built:
        """Compile for this processor, in this process."""
        from tvm.s_tir.meta_schedule.arg_info import ArgInfo
        from tvm.s_tir.meta_schedule.builder.local_builder import default_build

        os.environ["TVM_NUM_THREADS"] = str(self._target.attrs.get("num-cores", 1))
        module = self.schedule(schedule).mod
        arguments = [
            info.as_json() for info in ArgInfo.from_entry_func(module, remove_preproc=True)
        ]
        with silent():
            return TvmProgram(default_build(module, self._target, None), arguments)


class TvmProgram(Built):
    """A compiled TVM function with its arguments."""

    def __init__(self, library: Any, arguments: Sequence[Any]) -> None:
        import tvm

        device = tvm.cpu()
        self._arguments = [_argument(entry, device) for entry in arguments]
        self._library, self._device = library, device
        library.get_function("main")  # LLVM compiles lazily: trigger it now, not in a timed run

    def start_threads(self) -> None:
        """Start TVM's thread pool of the size set by ``build``; else the first run would."""
        import tvm

        tvm.get_global_func("runtime.config_threadpool")(_BIG_CORES, 0)

    def times(self, repeats: int) -> list[float]:
        """Time by TVM's clock: one uncounted call, then each run from flushed caches.

        A slow program is run ``SLOW_REPEATS`` times: most draws are slow, and none of those is the
        best. If the gauge is calibrated, runs count while it finds the cores free.
        """
        costs = self._evaluate(1)
        wanted = min(repeats, SLOW_REPEATS) if costs[0] > SLOW else repeats
        gauge = trial_gauge() if costs[0] < GAUGED else None
        if gauge is None:
            return costs + self._evaluate(wanted - 1) if wanted > 1 else costs
        runs = time_alone(
            lambda: self._evaluate(1)[0], gauge, min(wanted, GAUGED_REPEATS), time.perf_counter
        )
        self.remarks = {"shared": True} if runs.shared else {}
        return runs.costs

    def _evaluate(self, repeats: int) -> list[float]:
        evaluate = self._library.time_evaluator(
            "main",
            self._device,
            number=1,
            repeat=repeats,
            min_repeat_ms=0,
            f_preproc=FLUSH,
        )
        return [float(seconds) for seconds in evaluate(*self._arguments).results]


def _argument(entry: Any, device: Any) -> Any:
    """Return values for a tensor: a short random piece, repeated; indices are 0, always valid."""
    import numpy as np
    import tvm

    _, dtype, shape = entry
    shape = tuple(int(size) for size in shape)
    kind = str(dtype)
    if kind == "bfloat16":
        raise SpaceError("numpy has no bfloat16 to make arguments of")
    if kind.startswith("float"):
        piece = np.random.default_rng(0).standard_normal(4096).astype(kind)
        values = np.resize(piece, shape)
    else:
        values = np.zeros(shape, kind)
    return tvm.runtime.tensor(values, device)


def _script(module: Any) -> str:
    """Return TVMScript; numbers name their dtype only if it is not the usual one."""
    return min((str(module.script(int_dtype=dtype)) for dtype in ("int32", "int64")), key=len)


def cores() -> int:
    """Return the cores this process may use."""
    return len(os.sched_getaffinity(0))


def trace_text(schedule: Any) -> str:
    """Return the trace of TVM's Schedule as a schedule of this space: canonical JSON."""
    return canonical(_plain(schedule.trace.simplified(False).as_json()))


def _plain(value: Any) -> Any:
    """Return TVM's containers and numbers as JSON values."""
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return value.value if hasattr(value, "value") else [_plain(part) for part in value]
