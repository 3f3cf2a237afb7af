"""Records as GraphNet's log, line by line as its own tool writes them.

Its parser infers the outcome from which lines are present: a sample without ``[Datatype][eager]``
failed in eager, one with it but without ``[Datatype][compiled]`` failed to compile, and a line with
"Error:" means a failure at run time. Failures are written here so that it infers them correctly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph_net.results import (
    BLAMELESS,
    EQUAL,
    FAMILIES,
    MISMATCHES,
    Failure,
    Output,
    Record,
    Samples,
    Stage,
    Symptom,
)

LEVELS = range(-10, 6)


@dataclass(frozen=True, slots=True)
class LogHeader:
    """Fields of a log that are not part of a record."""

    prompt: str = "graph-net-test-compiler-log"
    warmup: int = 3
    trials: int = 5


def log_lines(record: Record, path: str, header: LogHeader) -> Iterator[str]:
    """Yield the lines of one sample; only a remark if the compiler is not to blame.

    The parser counts every sample that begins, and cannot express a machine's fault.
    """
    failure = record.failure
    if failure is not None and failure.symptom in BLAMELESS and not is_noisy(failure):
        yield remark(path, f"{failure.stage} {failure.symptom}", failure)
        return
    yield from beginning_lines(record, path, header)
    if record.timing is not None:
        for arm in (record.timing.eager, record.timing.candidate):
            yield from profiling_lines(record, arm, header)
    yield from (f"{header.prompt} {line}" for line in _result(record))


def beginning_lines(record: Record, path: str, header: LogHeader) -> Iterator[str]:
    """Yield the first lines of a sample: what it is, and how it was run."""
    prompt = header.prompt
    device, config = record.device, record.config
    yield f"{prompt} [Processing] {path}"
    settings = {
        "model": record.subject.model or record.subject.name,
        "device": device.kind,
        "hardware": device.name,
        "compiler": "nope" if config.name == "eager" else config.name,
        "warmup": header.warmup,
        "trials": header.trials,
        "compile_framework_version": config.version or "unknown",
    }
    for key, value in settings.items():
        # A stored text is put on one line, or it could forge a result.
        yield f"{prompt} [Config] {key}: {' '.join(str(value).split())}"


def is_noisy(failure: Failure | None) -> bool:
    """Return whether noisy samples are the only fault."""
    return failure is not None and failure.symptom is Symptom.TOO_NOISY


def remark(path: str, kind: str, failure: Failure) -> str:
    """Return the line that stands for a sample which is left out."""
    return f"{path} is left out: {kind}: {' '.join(failure.message.split())}"


def profiling_lines(record: Record, arm: Samples, header: LogHeader) -> Iterator[str]:
    """Yield the lines of one arm's samples."""
    device = record.device
    yield (
        f"[Profiling] Using device: {device.kind} {device.name}, "
        f"warm up {header.warmup}, trials {len(arm.wall)}"
    )
    for number, wall in enumerate(arm.wall):
        on_device = f", gpu={arm.device[number] * 1e3:.6g} ms" if arm.device else ""
        yield f"Trial {number + 1}: e2e={wall * 1e3:.6g} ms{on_device}"


def _result(record: Record) -> Iterator[str]:
    eager = eager_dtypes(record)
    failure = None if is_noisy(record.failure) else record.failure
    if failure is not None and failure.stage in (Stage.LOAD, Stage.EAGER):
        yield from failure_lines("eager", failure.message)
        return
    yield f"[Datatype][eager]: {' '.join(eager)}"
    if failure is not None and failure.symptom not in (*MISMATCHES, Symptom.NON_FINITE):
        yield from compiled_failure_lines(failure, eager)
        return
    dtypes = [output.dtype for output in record.outputs] or ["unknown"]
    yield f"[Datatype][compiled]: {' '.join(dtypes)}"
    yield f"[DataType] eager:{eager} compiled:{dtypes} match:{eager == dtypes}"
    yield from correctness_lines(record.outputs)
    yield "[Result] status: success"
    if record.timing is not None:
        yield from performance_lines(record.timing.eager, record.timing.candidate)


def eager_dtypes(record: Record) -> list[str]:
    """Return the dtypes of eager's outputs, None outputs left out."""
    stored = record.environment.get("eager_outputs")
    if isinstance(stored, list):
        names = [str(pair[0]) for pair in stored if isinstance(pair, list)]
        return [name for name in names if name != "NoneType"]
    return [output.dtype for output in record.outputs]


def compiled_failure_lines(failure: Failure, eager: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a failure after eager: compile and run failures differ in them."""
    if failure.stage is not Stage.COMPILE:
        yield f"[Datatype][compiled]: {' '.join(eager)}"
        yield from failure_lines("compiled", f"Error: {failure.message}")
        return
    # "Error:" and "Exception:" would make it a failure at run time.
    message = failure.message.replace("Error:", "Error -")
    yield from failure_lines("compiled", message.replace("Exception:", "Exception -"))


def failure_lines(stage: str, message: str) -> Iterator[str]:
    """Yield the lines of a failure."""
    yield "[Result] status: failed"
    yield f"[Fail due to {stage} model execution error.]"
    yield f"[Message] {' '.join(message.split())[:500]}"


def correctness_lines(outputs: Sequence[Output]) -> Iterator[str]:
    """Yield the lines that list at which tolerances each output passes."""
    yield f"[Correctness][equal]: {_bits([output.t_of[-1] == EQUAL for output in outputs])}"
    for t in LEVELS:
        for index, family in enumerate(FAMILIES):
            levels = [output.t_of[index] for output in outputs]
            passes = [level is not None and level <= t + 1e-4 for level in levels]
            yield f"[Correctness][{tolerance_key(t, family)}]: {_bits(passes)}"
    for name in ("max", "mean"):
        values = [getattr(output, f"{name}_abs") for output in outputs]
        texts = ("nan" if value is None else repr(float(value)) for value in values)
        yield f"[Correctness][{name}_diff]: {' '.join(texts)}"


def tolerance_key(t: int, family: str) -> str:
    """Return how a log spells the tolerances of a level."""
    absolute, relative = FAMILIES[family]
    return f"all_close_atol_{10 ** (absolute * t):.2E}_rtol_{10 ** (relative * t):.2E}"


def _bits(values: Sequence[bool]) -> str:
    return " ".join(str(int(value)) for value in values)


def performance_lines(eager: Samples, compiled: Samples | None) -> Iterator[str]:
    """Yield the lines of the times, and of the speedups where there are two arms."""
    for name, arm in (("eager", eager), ("compiled", compiled)):
        if arm is None:
            return
        stats = {"e2e": statistics(arm.wall)}
        if arm.device:
            stats["gpu"] = statistics(arm.device)
        yield f"[Performance][{name}]: {json.dumps(stats)}"
    for clock, kind in (("e2e", "wall"), ("gpu", "device")):
        first, second = getattr(eager, kind), getattr(compiled, kind)
        if first and second:
            ratio = statistics(first)["median"] / statistics(second)["median"]
            yield f"[Speedup][{clock}]: {_round_6g(ratio)}"


def statistics(seconds: Sequence[float]) -> dict[str, float]:
    """Return GraphNet's six statistics of some samples, in milliseconds."""
    values = sorted(value * 1e3 for value in seconds)
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    low, middle, high = (_quantile(values, share) for share in (0.25, 0.5, 0.75))
    figures = (middle, high - low, mean, spread, values[0], values[-1])
    names = ("median", "iqr", "mean", "std", "min", "max")
    return {name: _round_6g(figure) for name, figure in zip(names, figures, strict=True)}


def _quantile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def _round_6g(value: float) -> float:
    return float(f"{value:.6g}")
