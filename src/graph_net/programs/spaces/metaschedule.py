"""``metaschedule``: the design space of TVM's MetaSchedule for a function, on a CPU.

A schedule is a trace with its decisions, as MetaSchedule's databases store it. Replayed on the same
function, it gives the same program.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from graph_net.compilers.silence import silent
from graph_net.compilers.tvm import tvm_target
from graph_net.compilers.tvm_ready import load_intrinsics
from graph_net.programs.spaces.space import Built, Space, SpaceError, Workload
from graph_net.programs.spaces.traces import mutate_trace, parse_trace, programs_of
from graph_net.programs.spaces.tvm_program import TvmProgram
from graph_net.results import canonical

if TYPE_CHECKING:
    import numpy as np

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
