"""Limits of an untrusted record, so that one line cannot spoil a store.

A record is stored for ever and read by every later query. So a record that does not fit a column,
a table or the stack is refused when it is read, and the other records are kept.
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
"""The deepest nesting of lists and objects in options and environment."""
MOST_NAME = 4096
"""The most characters of a name."""
MOST_TEXT = 1 << 17
"""The most characters of a compiler's message, and of all its options together."""
MOST_BYTES = 1 << 53
"""The most bytes of memory; a float holds no larger integers exactly."""
_COSTS = [
    (entry.name, MOST_BYTES if entry.type == "int | None" else LARGEST) for entry in fields(Cost)
]
_NAMES = {
    part: [entry.name for entry in fields(noun) if entry.type == "str"]
    for part, noun in (("subject", Subject), ("config", Config), ("device", Device))
}


def check_depth(value: Any) -> None:
    """Raise RecordError if JSON is nested too deeply, without recursion."""
    level, depth = [value], 0
    while level := [item for item in level if isinstance(item, (list, dict))]:
        depth += 1
        if depth > MOST_DEPTH:
            raise RecordError(f"nested more than {MOST_DEPTH} levels deep")
        inner = (item.values() if isinstance(item, dict) else item for item in level)
        level = list(chain.from_iterable(inner))


def check_limits(record: Record) -> Record:
    """Return the record; raise RecordError if a text or a number is over its limit."""
    for name, most in _COSTS:
        value = getattr(record.cost, name)
        if value is not None and abs(value) > most:
            raise RecordError(f"record.cost.{name}: more than {most:g}")
    for part, names in _NAMES.items():
        for name in names:
            _require(f"{part}.{name}", getattr(getattr(record, part), name), MOST_NAME)
    _require("config.options", record.config.options_text, MOST_TEXT)
    _require("protocol", record.protocol, MOST_NAME)
    _require("started", record.started, MOST_NAME)
    if record.failure is not None:
        _require("failure.message", record.failure.message, MOST_TEXT)
        _require("failure.signature", record.failure.signature, MOST_NAME)
    return record


def _require(name: str, text: str, most: int) -> None:
    if len(text) > most:
        raise RecordError(f"record.{name}: more than {most} letters")
