"""What a record that came from elsewhere may have at most, so that one line cannot spoil a store.

A record is kept for ever and read by every question asked later: what a column, a table or a
stack cannot hold is refused when the record is read, and the records beside it go on.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import chain
from typing import Any

from graph_net.results.canonical import RecordError
from graph_net.results.config import Config
from graph_net.results.device import Device
from graph_net.results.record import Cost, Record, Subject
from graph_net.results.timing import LARGEST

MOST_DEPTH = 64
"""Lists and objects within each other in options and environment."""
MOST_NAME = 4096
"""Letters of a name."""
MOST_TEXT = 1 << 17
"""Letters of what a compiler said, and of all its options together."""
MOST_BYTES = 1 << 53
"""Bytes of memory; a number of floating point holds as many and no more."""
_COSTS = [
    (entry.name, MOST_BYTES if entry.type == "int | None" else LARGEST) for entry in fields(Cost)
]
_NAMES = {
    part: [entry.name for entry in fields(noun) if entry.type == "str"]
    for part, noun in (("subject", Subject), ("config", Config), ("device", Device))
}


def check_depth(value: Any) -> None:
    """Raise RecordError where JSON is nested too deeply; this does not call itself."""
    level, depth = [value], 0
    while level := [one for one in level if isinstance(one, (list, dict))]:
        depth += 1
        if depth > MOST_DEPTH:
            raise RecordError(f"nested more than {MOST_DEPTH} levels deep")
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = list(chain.from_iterable(inner))


def check_limits(record: Record) -> Record:
    """The record, if its texts are as short as names and messages are, and its bytes as few."""
    for name, most in _COSTS:
        value = getattr(record.cost, name)
        if value is not None and abs(value) > most:
            raise RecordError(f"record.cost.{name}: more than {most:g}")
    for part, names in _NAMES.items():
        noun = getattr(record, part)
        for name in names:
            if len(getattr(noun, name)) > MOST_NAME:
                raise RecordError(f"record.{part}.{name}: more than {MOST_NAME} letters")
    _require("config.options", record.config.options_text, MOST_TEXT)
    _require("protocol", record.protocol, MOST_NAME)
    _require("started", record.started, MOST_NAME)
    if record.failure is not None:
        _require("failure.message", record.failure.message, MOST_TEXT)
        _require("failure.signature", record.failure.signature, MOST_NAME)
    return record


def _require(name: str, value: Any, most: int) -> None:
    if isinstance(value, str) and len(value) > most:
        raise RecordError(f"record.{name}: more than {most} letters")
