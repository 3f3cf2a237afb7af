"""The columns of stored records: flat for queries, lossless together.

Every scalar has a column; the raw samples are lists of numbers; the rest of a record (its
environment, outputs and intervals, as JSON) is in ``rest``. A measurement that was too noisy has t
in its columns, since its outputs were compared, and no speedup; ``rest`` has all of it.
"""

from __future__ import annotations

import json
from statistics import median
from typing import Any

import pyarrow as pa

from graph_net.results import (
    Config,
    ConfigKind,
    Record,
    RecordError,
    Symptom,
    Timing,
    canonical,
)
from graph_net.results.canonical import plain
from graph_net.results.codec import from_tree
from graph_net.results.graph_breaks import BREAKS, GRAPHS, REASONS, count_in, reasons_text

_TEXT = (
    "key graph_id structure graph library model category subcategory compiler version options "
    "config device device_kind device_name protocol status stage symptom message signature verdict "
    "started"
).split()
_NUMBERS = (
    "t speedup speedup_low speedup_high noise noise_low noise_high eager_seconds "
    "candidate_seconds cold_seconds warm_seconds cpu_seconds seconds"
).split()
BYTES = "compile_peak_bytes eager_peak_bytes candidate_peak_bytes".split()
TOO_NOISY = str(Symptom.TOO_NOISY)
WITHHELD = ("speedup", "speedup_low", "speedup_high", "verdict")
"""Columns that are null for a measurement that was too noisy."""
PIECES = (GRAPHS, BREAKS)
_ARMS = ("eager", "control", "candidate")
_LISTS = [f"{arm}_{kind}" for arm in _ARMS for kind in ("wall", "device")]
WHOLE = frozenset([*_LISTS, "rest"])
"""Columns that make a row large."""

SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in _TEXT),
        pa.field("signal", pa.int32()),
        *(pa.field(name, pa.float64()) for name in _NUMBERS),
        *(pa.field(name, pa.int64()) for name in BYTES),
        *(pa.field(name, pa.list_(pa.float64())) for name in _LISTS),
        *(pa.field(name, pa.int64()) for name in PIECES),
        pa.field(REASONS, pa.string()),
        pa.field("per_block", pa.int64()),
        pa.field("rest", pa.string(), nullable=False),
    ],
    metadata={b"graph_net.records": b"3"},
)


def summary_of(record: Record) -> dict[str, Any]:
    """Return a record as a row, without the columns of ``WHOLE``."""
    subject, config, device, failure = record.subject, record.config, record.device, record.failure
    row: dict[str, Any] = {
        "key": record.key,
        "graph_id": subject.id,
        "structure": subject.structure,
        "graph": subject.name,
        "library": subject.library,
        "model": subject.model,
        "category": subject.category,
        "subcategory": subject.subcategory,
        "compiler": config.name,
        "version": config.version,
        "options": config.options_text,
        "config": config.hash,
        "device": device.hash,
        "device_kind": device.kind,
        "device_name": device.name,
        "protocol": record.protocol,
        "status": _status(record),
        "t": record.t,
        "started": record.started,
        "seconds": record.seconds,
    }
    if failure is not None:
        row |= {"stage": failure.stage, "symptom": failure.symptom, "message": failure.message}
        row |= {"signature": failure.signature, "signal": failure.signal}
    row |= {name: count_in(record, name) for name in PIECES} | {REASONS: reasons_text(record)}
    row |= plain(record.cost)
    if record.timing is not None:
        row |= _times(record.timing, record)
    return row


def row_of(record: Record) -> dict[str, Any]:
    """Return a record as a complete row."""
    row, tree = summary_of(record), plain(record)
    if record.timing is not None:
        for arm in _ARMS:
            for kind in ("wall", "device"):
                row[f"{arm}_{kind}"] = list(tree["timing"][arm].pop(kind))
    return row | {"rest": canonical(tree)}


def _status(record: Record) -> str:
    if record.too_noisy:
        return TOO_NOISY
    return "success" if record.failure is None else "failed"


def _times(timing: Timing, record: Record) -> dict[str, Any]:
    speedup = record.speedup
    return {
        "speedup": speedup and speedup.value,
        "speedup_low": speedup and speedup.low,
        "speedup_high": speedup and speedup.high,
        "noise": timing.noise.value,
        "noise_low": timing.noise.low,
        "noise_high": timing.noise.high,
        "verdict": None if record.too_noisy else timing.verdict,
        "eager_seconds": median(timing.eager.wall),
        "candidate_seconds": median(timing.candidate.wall),
        "per_block": timing.per_block,
    }


def record_of(row: dict[str, Any]) -> Record:
    """Return the record of a row, checked as it is built; raise RecordError if it is invalid."""
    try:
        tree = json.loads(row["rest"])
        if tree.get("timing") is not None:
            for arm in _ARMS:
                for kind in ("wall", "device"):
                    tree["timing"][arm][kind] = row[f"{arm}_{kind}"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise RecordError(f"not a record: {type(error).__name__}: {error}") from error
    return from_tree(tree)


def label_of(compiler: str, options: str) -> str:
    """Return ``Config.label`` (``inductor[mode=default]``) from the columns of a row."""
    try:
        parsed = json.loads(options)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise RecordError(f"the options of {compiler} are not a JSON object: {options[:80]!a}")
    return Config(ConfigKind.COMPILER, compiler, "", parsed).label
