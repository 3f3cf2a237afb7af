"""The logs of GraphNet's device tests: one run on a reference device, one held against it.

There "eager" is the run on the reference device, whatever its compiler was, and "compiled" the
run on the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from graph_net.formats.graphnet.log import (
    Words,
    beginning,
    compiled_failed,
    correctness,
    failed,
    performance,
    profiling,
)
from graph_net.results import BLAMELESS, Failure, Json, Output, Record, Symptom

PROMPT = "graph-net-test-device-log"


@dataclass(frozen=True, slots=True)
class DeviceWords:
    """What a device test's log says beside a compiler test's."""

    words: Words
    seed: int = 123
    op_lib: str = "default"


@dataclass(frozen=True, slots=True)
class Compared:
    """A target's outputs against the reference's; ``forms`` are dtype and shape of each."""

    outputs: Sequence[Output]
    failure: Failure | None
    forms: tuple[Sequence[Json], Sequence[Json]]


def reference_lines(record: Record, path: str, words: DeviceWords) -> Iterator[str]:
    """Yield the lines of a run on the reference device."""
    yield from _beginning(record, path, words)
    prompt = words.words.prompt
    if record.failure is not None or record.timing is None:
        yield f"{prompt} [Result][status] eager:failed"
        message = "" if record.failure is None else record.failure.message
        yield from (f"{prompt} {line}" for line in failed("eager", message))
        return
    yield from profiling(record, record.timing.candidate, words.words)
    yield f"{prompt} [Result][status] eager:success"
    yield from (f"{prompt} {line}" for line in performance(record.timing.candidate, None))


def target_lines(
    reference: Record, record: Record, compared: Compared, path: str, words: DeviceWords
) -> Iterator[str]:
    """Yield the lines of a run on the target; only a remark if the device is not to blame."""
    failure = record.failure
    if failure is not None and failure.symptom in BLAMELESS and not _noisy(failure):
        why = " ".join(failure.message.split())
        yield f"{path} is left out: {failure.stage} {failure.symptom}: {why}"
        return
    if compared.failure is not None and compared.failure.symptom in BLAMELESS:
        why = " ".join(compared.failure.message.split())
        yield f"{path} is left out: {compared.failure.symptom}: {why}"
        return
    yield from _beginning(record, path, words)
    if record.timing is not None:
        yield from profiling(record, record.timing.candidate, words.words)
    lines = _result(reference, record, compared)
    yield from (f"{words.words.prompt} {line}" for line in lines)


def _noisy(failure: Failure) -> bool:
    return failure.symptom is Symptom.TOO_NOISY


def _beginning(record: Record, path: str, words: DeviceWords) -> Iterator[str]:
    yield from beginning(record, path, words.words)
    yield f"{words.words.prompt} [Config] seed: {words.seed}"
    yield f"{words.words.prompt} [Config] op_lib: {words.op_lib}"


def _result(reference: Record, record: Record, compared: Compared) -> Iterator[str]:
    then, now = (_dtypes_and_shapes(forms) for forms in compared.forms)
    if not now:
        then = [(output.dtype, list(output.shape)) for output in reference.outputs]
    dtypes = [dtype for dtype, _ in then]
    failure = record.failure
    if failure is not None and not now:
        yield "[Result][status] eager:success compiled:failed"
        yield f"[Datatype][eager]: {' '.join(dtypes)}"
        yield from compiled_failed(failure, dtypes)
        return
    yield "[Result][status] eager:success compiled:success"
    yield from _forms("Datatype", "DataType", dtypes, [dtype for dtype, _ in now], " ".join)
    yield from _forms("Shape", "Shape", [s for _, s in then], [s for _, s in now], str)
    if compared.outputs:
        yield from correctness(compared.outputs)
    if reference.timing is not None and record.timing is not None:
        yield from performance(reference.timing.candidate, record.timing.candidate)


def _forms(
    each: str, both: str, then: list[Any], now: list[Any], text: Callable[[list[Any]], str]
) -> Iterator[str]:
    yield f"[{each}][eager]: {text(then)}"
    yield f"[{each}][compiled]: {text(now)}"
    yield f"[{both}] eager:{then} compiled:{now} match:{then == now}"


def _dtypes_and_shapes(forms: Sequence[Json]) -> list[tuple[str, Json]]:
    """Return dtype and shape of each stored output that is not None."""
    pairs = [form for form in forms if isinstance(form, list) and len(form) == 2]
    return [(str(dtype), shape) for dtype, shape in pairs if dtype != "NoneType"]
