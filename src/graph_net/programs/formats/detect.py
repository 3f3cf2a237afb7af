"""Detect a file's format from its first lines; the name is ignored."""

from __future__ import annotations

import re
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

from graph_net.configs.files import is_tpugraphs
from graph_net.programs.formats.autotvm import is_pickle
from graph_net.programs.formats.values import from_text
from graph_net.store.lines import (
    BROKEN_GZIP,
    DEFAULT_LIMITS,
    ReadError,
    ReadLimits,
    open_stream,
    read_lines,
)

HEAD, LINES = 1 << 16, 64
_T4 = re.compile(rb'\s*\{\s*"(\$?schema|schema_version|metadata|results)"\s*:')
_RECORD = re.compile(rb'\{"(config|subject)":')


class Format(StrEnum):
    """The file formats that can be ingested."""

    RECORDS = "graph-net records"
    ANSOR = "Ansor records"
    AUTOTVM = "an AutoTVM log"
    METASCHEDULE = "MetaSchedule records"
    WORKLOADS = "MetaSchedule workloads"
    T4 = "Kernel Tuner T4"
    COLLECTED = "collected programs"
    TPUGRAPHS = "TpuGraphs runs"


def detect(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Format:
    """Return the format of a file; raise ReadError, naming the known formats, if it has none."""
    if is_tpugraphs(path):
        return Format.TPUGRAPHS
    try:
        with open_stream(path) as file:
            head = file.read(HEAD)
    except BROKEN_GZIP as error:
        raise ReadError(f"{path} is not a complete gzip file: {error}") from error
    if not head or _RECORD.match(head):
        return Format.RECORDS
    if _T4.match(head):
        return Format.T4
    for _, line in islice(read_lines(path, limits), LINES):
        if isinstance(line, bytes) and (found := _of_line(line)) is not None:
            return found
    raise ReadError(f"{path} is none of: {', '.join(Format)}")


def _of_line(line: bytes) -> Format | None:
    if is_pickle(line) and line.isascii():
        return Format.AUTOTVM
    try:
        tree = from_text(line)
    except ReadError:
        return None
    if isinstance(tree, dict):
        return _of_object(tree)
    if isinstance(tree, list) and len(tree) == 2:
        first, second = tree
        if isinstance(first, int) and isinstance(second, list):
            return Format.METASCHEDULE
        if isinstance(first, str) and isinstance(second, str):
            return Format.WORKLOADS
    return None


def _of_object(tree: dict[str, Any]) -> Format | None:
    if {"i", "r", "v"} <= tree.keys():
        return Format.ANSOR if isinstance(tree["v"], str) else Format.AUTOTVM
    if {"input", "config", "result"} <= tree.keys():
        return Format.AUTOTVM
    if {"task", "schedule", "costs"} <= tree.keys():
        return Format.COLLECTED
    if {"subject", "config", "device"} <= tree.keys():
        return Format.RECORDS
    return None
