"""The logs of GraphNet's device tests: a run on a reference device and one on a target.

Here "eager" is the run on the reference device, whatever its compiler was, and "compiled" the run
on the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from graph_net.formats.graphnet.log import (
    LogHeader,
    beginning_lines,
    compiled_failure_lines,
    correctness_lines,
    failure_lines,
    is_noisy,
    performance_lines,
    profiling_lines,
    remark,
)
from graph_net.results import BLAMELESS, Failure, Json, Output, Record

PROMPT = "graph-net-test-device-log"


@dataclass(frozen=True, slots=True)
class DeviceLogHeader:
    """Fields of a device test's log that a compiler test's log does not have."""

    log: LogHeader
    seed: int = 123
    op_lib: str = "default"


@dataclass(frozen=True, slots=True)
class DeviceComparison:
    """A target's outputs compared with the reference's; ``forms`` are their dtypes and shapes."""

    outputs: Sequence[Output]
    failure: Failure | None
    forms: tuple[Sequence[Json], Sequence[Json]]


def reference_lines(record: Record, path: str, header: DeviceLogHeader) -> Iterator[str]:
    """Yield the lines of a run on the reference device."""
    yield from _beginning(record, path, header)
    prompt = header.log.prompt
    if record.failure is not None or record.timing is None:
        yield f"{prompt} [Result][status] eager:failed"
        message = "" if record.failure is None else record.failure.message
        yield from (f"{prompt} {line}" for line in failure_lines("eager", message))
        return
    yield from profiling_lines(record, record.timing.candidate, header.log)
    yield f"{prompt} [Result][status] eager:success"
    yield from (f"{prompt} {line}" for line in performance_lines(record.timing.candidate, None))


def target_lines(
    reference: Record,
    record: Record,
    compared: DeviceComparison,
    path: str,
    header: DeviceLogHeader,
) -> Iterator[str]:
    """Yield the lines of a run on the target; only a remark if the device is not to blame."""
    failure = record.failure
    if failure is not None and failure.symptom in BLAMELESS and not is_noisy(failure):
        yield remark(path, f"{failure.stage} {failure.symptom}", failure)
        return
    if compared.failure is not None and compared.failure.symptom in BLAMELESS:
        yield remark(path, str(compared.failure.symptom), compared.failure)
        return
    yield from _beginning(record, path, header)
    if record.timing is not None:
        yield from profiling_lines(record, record.timing.candidate, header.log)
    lines = _result(reference, record, compared)
    yield from (f"{header.log.prompt} {line}" for line in lines)


def _beginning(record: Record, path: str, header: DeviceLogHeader) -> Iterator[str]:
    yield from beginning_lines(record, path, header.log)
    yield f"{header.log.prompt} [Config] seed: {header.seed}"
    yield f"{header.log.prompt} [Config] op_lib: {header.op_lib}"


def _result(reference: Record, record: Record, compared: DeviceComparison) -> Iterator[str]:
    then, now = (_dtypes_and_shapes(forms) for forms in compared.forms)
    if not now:
        then = [(output.dtype, list(output.shape)) for output in reference.outputs]
    dtypes = [dtype for dtype, _ in then]
    failure = record.failure
    if failure is not None and not now:
        yield "[Result][status] eager:success compiled:failed"
        yield f"[Datatype][eager]: {' '.join(dtypes)}"
        yield from compiled_failure_lines(failure, dtypes)
        return
    yield "[Result][status] eager:success compiled:success"
    yield from _form_lines("Datatype", "DataType", dtypes, [dtype for dtype, _ in now], " ".join)
    yield from _form_lines("Shape", "Shape", [s for _, s in then], [s for _, s in now], str)
    if compared.outputs:
        yield from correctness_lines(compared.outputs)
    if reference.timing is not None and record.timing is not None:
        yield from performance_lines(reference.timing.candidate, record.timing.candidate)


def _form_lines(
    name: str, match_name: str, then: list[Any], now: list[Any], text: Callable[[list[Any]], str]
) -> Iterator[str]:
    yield f"[{name}][eager]: {text(then)}"
    yield f"[{name}][compiled]: {text(now)}"
    yield f"[{match_name}] eager:{then} compiled:{now} match:{then == now}"


def _dtypes_and_shapes(forms: Sequence[Json]) -> list[tuple[str, Json]]:
    """Return dtype and shape of each stored output that is not None."""
    pairs = [form for form in forms if isinstance(form, list) and len(form) == 2]
    return [(str(dtype), shape) for dtype, shape in pairs if dtype != "NoneType"]
