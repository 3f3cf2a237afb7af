"""One measurement, in a process that it may kill.

Stages are announced before they begin, so that the parent knows where a process died.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from graph_net.compilers import Compiler, Job, Runner, Unsupported, create
from graph_net.compilers.dynamo import compilations
from graph_net.compilers.form_cache import OUTBOX, FormCache
from graph_net.graph import Graph, from_bytes
from graph_net.isolate.deaths import held_more, is_out_of_memory
from graph_net.isolate.messages import text_of
from graph_net.measure.arms import Arms
from graph_net.measure.audit_answer import make_answer
from graph_net.measure.device import Disturbances, Peak
from graph_net.measure.framework import Framework, framework_of
from graph_net.measure.golden import ENVIRONMENT
from graph_net.measure.golden_outputs import form_of, store_or_compare
from graph_net.measure.placement import Placement, place_threads
from graph_net.measure.safetensors import SafetensorsError
from graph_net.measure.stats import half_width
from graph_net.measure.task import Answer, Measurement, now
from graph_net.measure.timing import is_noisy
from graph_net.measure.verify import (
    Reference,
    check_outputs,
    effects_of,
    make_reference,
    with_exact,
    worse_of,
)
from graph_net.results import (
    Cost,
    Failure,
    Json,
    Output,
    Record,
    Stage,
    Symptom,
    Timing,
)
from graph_net.results.signature import clean_text, message_of, signature_of

LONGER = 3.0
"""A noisy timing is repeated for this many times the protocol's seconds."""


class _Ended(Exception):
    """Raised to end the measurement with a failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass
class Worker:
    """A task and what has been measured of it so far; the callables are its context's."""

    task: Measurement
    workdir: Path
    announce: Callable[[Stage, dict[str, Json]], None] = lambda stage, known: None
    wait: Callable[[], None] = lambda: None
    clock: Callable[[], float] = time.monotonic
    offer: Callable[[Answer], None] = lambda answer: None
    quiet: Callable[[], None] = lambda: None
    stage: Stage = Stage.LOAD
    cost: Cost = field(default_factory=Cost)
    outputs: tuple[Output, ...] = ()
    timing: Timing | None = None
    environment: dict[str, Json] = field(default_factory=dict)
    _held: Peak = field(default_factory=Peak)
    _placement: Placement = field(default_factory=lambda: Placement(1))

    def run(self) -> Record:
        """Return the record, whatever happens short of death."""
        started, began = now(), self.clock()
        failure: Failure | None = None
        try:
            self._measure()
        except _Ended as ended:
            failure = ended.failure
        except (Exception, SystemExit) as error:
            failure = self._failure(error)
        if failure is not None:
            message = clean_text(failure.message)
            signature = failure.signature or signature_of(message)
            failure = replace(failure, message=message, signature=signature)
        return self.task.record(
            failure=failure,
            timing=self.timing,
            outputs=self.outputs,
            cost=self.cost,
            environment=self.environment,
            started=started,
            seconds=self.clock() - began,
        )

    def _enter(self, stage: Stage) -> None:
        self.stage = stage
        self.announce(stage, self.environment)

    def _measure(self) -> None:
        device, protocol = self.task.device.kind, self.task.protocol
        self._enter(Stage.LOAD)
        graph = from_bytes(self.task.graph)
        self._check_size(graph)
        host = framework_of(graph, device)
        self.environment["framework"] = host.label
        # Beside a GPU the processor only launches, and the other cores are compiling.
        host.set_threads(self.task.device.threads if device == "cpu" else 1)
        inputs = host.make_inputs(graph, device, protocol.seed)
        self._enter(Stage.EAGER)
        self._reset_peak()
        expected = make_reference(graph, device, protocol.seed, host)
        if all(leaf is None for leaf in expected.outputs):
            raise _Ended(Failure(Stage.EAGER, Symptom.UNSUPPORTED, "the graph returns nothing"))
        self.cost = replace(self.cost, eager_peak_bytes=self._peak())
        self.environment["eager_outputs"] = [form_of(leaf) for leaf in expected.outputs]
        if protocol.exact:
            expected = with_exact(expected, graph, device, protocol.seed, host)
            if expected.inexact:
                self.environment["no_float64"] = expected.inexact
        forms = None
        if self.task.forms:
            forms = FormCache(Path(self.task.forms), self.workdir / OUTBOX, self.clock)
        job = Job(graph, tuple(inputs), device, self.workdir, self.task.device.threads, forms)
        eager = create("eager").compile(job)
        self._placement = Placement(self.task.device.threads)
        self._enter(Stage.COMPILE)
        compiler = create(self.task.config.name, self.task.config.options)
        candidate = self._compile(compiler, job)
        self._enter(Stage.FIRST_RUN)
        self._reset_peak()
        leaves = self._call(graph, candidate, host)
        self.cost = replace(self.cost, candidate_peak_bytes=self._peak())
        self._enter(Stage.VERIFY)
        self._store_golden(leaves, expected)
        self.outputs, failure = check_outputs(leaves, expected)
        if failure is not None:
            raise _Ended(failure)
        del leaves
        self.wait()
        self._enter(Stage.MEASURE)
        self._time(graph, job, eager, candidate, expected, host)

    def _check_size(self, graph: Graph) -> None:
        """End a measurement whose inputs cannot fit, instead of filling the memory first."""
        most = self.task.limits.memory_bytes
        if self.task.device.kind == "cpu" and graph.tensor_bytes > most:
            why = f"needs {graph.tensor_bytes / 2**30:.1f} GiB for its inputs alone, "
            why += f"more than the limit of {most / 2**30:.1f} GiB"
            raise _Ended(Failure(Stage.LOAD, Symptom.OUT_OF_MEMORY, why))

    def _compile(self, compiler: Compiler, job: Job) -> Runner:
        missing = compiler.missing()
        if missing:
            raise _Ended(Failure(Stage.COMPILE, Symptom.UNSUPPORTED, missing))
        if job.device not in compiler.devices:
            why = f"{compiler.name} does not run on {job.device}"
            raise _Ended(Failure(Stage.COMPILE, Symptom.UNSUPPORTED, why))
        compiler.check_level(job.graph)
        self._reset_peak()
        began, busy = self.clock(), _cpu_seconds()
        runner = compiler.compile(job)
        self.cost = replace(
            self.cost,
            cold_seconds=self.clock() - began,
            cpu_seconds=_cpu_seconds() - busy,
            compile_peak_bytes=self._peak(),
        )
        if job.forms is not None and job.forms.used:
            self._add_spared(job.forms)
        if self.task.protocol.warm_compile and compiler.name != "eager":
            if "torch._dynamo" in sys.modules:
                torch._dynamo.reset()
            began = self.clock()
            runner = compiler.compile(job)
            self.cost = replace(self.cost, warm_seconds=self.clock() - began)
        self.environment |= compiler.remarks()
        return runner

    def _add_spared(self, forms: FormCache) -> None:
        """Add what an earlier measurement spent on a converted form that this one reused."""
        cold, busy = self.cost.cold_seconds or 0.0, self.cost.cpu_seconds or 0.0
        self.cost = replace(
            self.cost, cold_seconds=cold + forms.spared, cpu_seconds=busy + forms.spared_cpu
        )
        self.environment["converted_before"] = ", ".join(forms.used)
        self.environment["converted_before_seconds"] = forms.spared

    def _call(self, graph: Graph, runner: Runner, host: Framework) -> list[Any]:
        """Return the outputs and the changed inputs of one call."""
        seed = self.task.protocol.seed
        inputs = host.make_inputs(graph, self.task.device.kind, seed)
        with host.inference_mode():
            host.seed(seed)
            return effects_of(graph, runner(inputs), inputs, host)

    def _store_golden(self, leaves: list[Any], expected: Reference) -> None:
        """Store the outputs for other machines, or compare them with another machine's."""
        golden = self.task.golden
        if golden is None:
            return
        try:
            result = store_or_compare(golden, self.workdir, leaves, expected)
            self.environment[ENVIRONMENT] = result
        except (OSError, SafetensorsError) as error:
            why = message_of(error)
            raise _Ended(Failure(Stage.VERIFY, Symptom.INFRASTRUCTURE, why)) from error

    def _time(
        self,
        graph: Graph,
        job: Job,
        eager: Runner,
        candidate: Runner,
        expected: Reference,
        host: Framework,
    ) -> None:
        arms = Arms(job, eager, candidate, host).with_changing_inputs(expected.outputs)
        self.environment["inputs_changed"] = [graph.inputs[i].name for i in arms.changing]
        disturbances = Disturbances()
        with place_threads(self._placement, job.device, self.environment) as place:
            timing, again, failure = self._time_arms(arms, expected, place)
        self.environment |= disturbances.read()
        self.timing = timing
        self.outputs = worse_of(self.outputs, again) if again else again
        if failure is not None:
            raise _Ended(failure)
        # Outputs count however noisy the samples are, so the parent always checks them.
        self.offer(make_answer(arms, timing, self.task.protocol, expected.outputs))
        off = max(timing.noise.value, 1 / timing.noise.value) - 1
        if off > self.task.protocol.noise_limit:
            why = f"eager differs from itself by {off:.0%}"
            raise _Ended(Failure(Stage.MEASURE, Symptom.TOO_NOISY, why))

    def _time_arms(
        self, arms: Arms, expected: Reference, place: Callable[[], None]
    ) -> tuple[Timing, tuple[Output, ...], Failure | None]:
        """Return the timing and the outputs of timed calls; the quieter of two if noisy."""
        protocol = self.task.protocol
        first, again, failure = arms.time(protocol, compilations, expected, self.outputs, place)
        if failure is not None or not is_noisy(first, protocol):
            return first, again, failure
        self.environment["noisy_at_first"] = first.reason
        self.quiet()
        longer = replace(protocol, seconds=LONGER * protocol.seconds)
        second, more, failure = arms.time(longer, compilations, expected, self.outputs, place)
        again = worse_of(again, more) if again and more else more
        return min(second, first, key=lambda timing: half_width(timing.noise)), again, failure

    def _failure(self, error: BaseException) -> Failure:
        message = message_of(error)
        symptom = Symptom.EXCEPTION
        if isinstance(error, Unsupported):
            symptom, message = Symptom.UNSUPPORTED, text_of(error) or "unsupported"
        elif is_out_of_memory(type(error).__name__, message):
            symptom = Symptom.OUT_OF_MEMORY
            if self.task.device.kind == "cpu":
                message = held_more(self.task.limits.memory_bytes, message).reason
        return Failure(self.stage, symptom, message)

    def _reset_peak(self) -> None:
        if self.task.device.kind == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        self._held = Peak()

    def _peak(self) -> int:
        """Return the peak in bytes since the last reset; on a GPU all that was allocated."""
        if self.task.device.kind == "cuda":
            return int(torch.cuda.max_memory_allocated())
        return self._held.read()


def _cpu_seconds() -> float:
    """Return the CPU seconds of this process and of the children it has waited for."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total
