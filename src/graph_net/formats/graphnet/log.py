"""Records as GraphNet's log, line by line as its own tool writes them.

What its parser makes of a log hangs on which lines are there: a sample without
``[Datatype][eager]`` failed in eager, one that has it and lacks ``[Datatype][compiled]`` failed to
compile, and a line with "Error:" in it failed at run time. The failures here are written so that
it gets them right.
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
class Words:
    """What a log says that a record does not know."""

    prompt: str = "graph-net-test-compiler-log"
    warmup: int = 3
    trials: int = 5


def log_lines(record: Record, path: str, words: Words) -> Iterator[str]:
    """Yield the lines of one sample; only a remark if the compiler is not to blame.

    A parser counts every sample it sees begin, and has no word for a machine's fault.
    """
    failure = record.failure
    if failure is not None and failure.symptom in BLAMELESS and not _noisy(record):
        why = " ".join(failure.message.split())
        yield f"{path} is left out: {failure.stage} {failure.symptom}: {why}"
        return
    yield from beginning(record, path, words)
    if record.timing is not None:
        for arm in (record.timing.eager, record.timing.candidate):
            yield from profiling(record, arm, words)
    yield from (f"{words.prompt} {line}" for line in _result(record))


def beginning(record: Record, path: str, words: Words) -> Iterator[str]:
    """Yield the first lines of a sample: what it is, and how it was run."""
    prompt = words.prompt
    device, config = record.device, record.config
    yield f"{prompt} [Processing] {path}"
    settings = {
        "model": record.subject.model or record.subject.name,
        "device": device.kind,
        "hardware": device.name,
        "compiler": "nope" if config.name == "eager" else config.name,
        "warmup": words.warmup,
        "trials": words.trials,
        "compile_framework_version": config.version or "unknown",
    }
    for key, value in settings.items():
        # A stored text is one line here, or it could write a result of its own.
        yield f"{prompt} [Config] {key}: {' '.join(str(value).split())}"


def _noisy(record: Record) -> bool:
    """Return whether noisy samples are a record's only fault."""
    return record.failure is not None and record.failure.symptom is Symptom.TOO_NOISY


def profiling(record: Record, arm: Samples, words: Words) -> Iterator[str]:
    """Yield the lines of one arm's samples."""
    device = record.device
    yield (
        f"[Profiling] Using device: {device.kind} {device.name}, "
        f"warm up {words.warmup}, trials {len(arm.wall)}"
    )
    for number, wall in enumerate(arm.wall):
        on_device = f", gpu={arm.device[number] * 1e3:.6g} ms" if arm.device else ""
        yield f"Trial {number + 1}: e2e={wall * 1e3:.6g} ms{on_device}"


def _result(record: Record) -> Iterator[str]:
    eager = eager_dtypes(record)
    failure = None if _noisy(record) else record.failure
    if failure is not None and failure.stage in (Stage.LOAD, Stage.EAGER):
        yield from failed("eager", failure.message)
        return
    yield f"[Datatype][eager]: {' '.join(eager)}"
    compared = failure is None or failure.symptom in (*MISMATCHES, Symptom.NON_FINITE)
    if not compared:
        assert failure is not None
        yield from compiled_failed(failure, eager)
        return
    found = [output.dtype for output in record.outputs] or ["unknown"]
    yield f"[Datatype][compiled]: {' '.join(found)}"
    yield f"[DataType] eager:{eager} compiled:{found} match:{eager == found}"
    yield from correctness(record.outputs)
    yield "[Result] status: success"
    if record.timing is not None:
        yield from performance(record.timing.eager, record.timing.candidate)


def eager_dtypes(record: Record) -> list[str]:
    """Return the dtypes of eager's outputs, None outputs left out."""
    stored = record.environment.get("eager_outputs")
    if isinstance(stored, list):
        names = [str(pair[0]) for pair in stored if isinstance(pair, list)]
        return [name for name in names if name != "NoneType"]
    return [output.dtype for output in record.outputs]


def compiled_failed(failure: Failure, eager: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a failure after eager: compile and run failures differ in them."""
    if failure.stage is not Stage.COMPILE:
        yield f"[Datatype][compiled]: {' '.join(eager)}"
        yield from failed("compiled", f"Error: {failure.message}")
        return
    # The words "Error:" and "Exception:" would make it a failure at run time.
    message = failure.message.replace("Error:", "Error -")
    yield from failed("compiled", message.replace("Exception:", "Exception -"))


def failed(which: str, message: str) -> Iterator[str]:
    """Yield the lines of a failure."""
    yield "[Result] status: failed"
    yield f"[Fail due to {which} model execution error.]"
    yield f"[Message] {' '.join(message.split())[:500]}"


def correctness(outputs: Sequence[Output]) -> Iterator[str]:
    """Yield the lines that list at which tolerances each output passes."""
    yield f"[Correctness][equal]: {_bits([output.t_of[-1] == EQUAL for output in outputs])}"
    for t in LEVELS:
        for place, (absolute, relative) in enumerate(FAMILIES.values()):
            key = f"all_close_atol_{10 ** (absolute * t):.2E}_rtol_{10 ** (relative * t):.2E}"
            levels = [output.t_of[place] for output in outputs]
            passes = [level is not None and level <= t + 1e-4 for level in levels]
            yield f"[Correctness][{key}]: {_bits(passes)}"
    for name in ("max", "mean"):
        values = [getattr(output, f"{name}_abs") for output in outputs]
        words = " ".join("nan" if value is None else repr(float(value)) for value in values)
        yield f"[Correctness][{name}_diff]: {words}"


def _bits(values: Sequence[bool]) -> str:
    return " ".join(str(int(value)) for value in values)


def performance(eager: Samples, compiled: Samples | None) -> Iterator[str]:
    """Yield the lines of the times, and of the speedups where there are two arms."""
    for word, arm in (("eager", eager), ("compiled", compiled)):
        if arm is None:
            return
        stats = {"e2e": statistics(arm.wall)}
        if arm.device:
            stats["gpu"] = statistics(arm.device)
        yield f"[Performance][{word}]: {json.dumps(stats)}"
    for word, kind in (("e2e", "wall"), ("gpu", "device")):
        first, second = getattr(eager, kind), getattr(compiled, kind)
        if first and second:
            ratio = statistics(first)["median"] / statistics(second)["median"]
            yield f"[Speedup][{word}]: {_six(ratio)}"


def statistics(seconds: Sequence[float]) -> dict[str, float]:
    """Return GraphNet's six statistics of some samples, in milliseconds."""
    values = sorted(value * 1e3 for value in seconds)
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    low, middle, high = (_quantile(values, share) for share in (0.25, 0.5, 0.75))
    figures = (middle, high - low, mean, spread, values[0], values[-1])
    names = ("median", "iqr", "mean", "std", "min", "max")
    return {name: _six(figure) for name, figure in zip(names, figures, strict=True)}


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _six(value: float) -> float:
    return float(f"{value:.6g}")
