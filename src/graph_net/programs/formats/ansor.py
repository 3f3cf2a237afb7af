"""Ansor's records: one JSON object per line. TenSet has 52 million of them.

The workload is named by a function and its arguments, or by the hash of its graph and the sizes of
its inputs. Both are a JSON list in a string, and both are kept unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from graph_net.programs.formats.outcome import outcome_json, read_outcome
from graph_net.programs.formats.values import expect, fields, from_text, items, text, to_text
from graph_net.results import Program, Task
from graph_net.store.lines import (
    DEFAULT_LIMITS,
    Damage,
    Place,
    ReadLimits,
    read_each,
)

NAME = "ansor"
STEPS = frozenset("AN FU PR RE SP FSP FFSP SA CA CI CR CHR CHW RF".split())
REMEMBERED, SHORT = 4096, 1 << 12
"""How many tasks are cached, and the most characters of one; a longer one may be megabytes."""
_DAG_HASH = re.compile(r"[0-9a-f]{32}")


def read_ansor(
    path: Path, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, Program | Damage]]:
    """Yield the programs of a file, in order."""
    return read_each(path, limits, read_line)


def read_line(line: bytes) -> Program:
    """Return the program of a line; raise ReadError if it is malformed."""
    tree = fields(from_text(line), "a record")
    expect(tree.keys() == {"i", "r", "v"}, "the fields i, r and v")
    task, state = items(tree["i"], "an input", 2)
    stages, steps = items(state, "a state", 2)
    expect(stages == [], "no stages in a state")
    known = all(
        isinstance(step, list) and step and isinstance(step[0], str) and step[0] in STEPS
        for step in items(steps, "steps")
    )
    expect(known, "steps of known kinds")
    key, target, *rest = items(task, "a task", 2, 3, 4, 5, 6)
    outcome = read_outcome(tree["r"])
    return Program.from_log(
        _task(text(key, "a workload key"), text(target, "a target"), to_text(rest)),
        to_text(steps),
        outcome.costs,
        outcome.failure,
        text(tree["v"], "a version"),
        outcome.seconds,
        outcome.measured,
    )


def _task(key: str, target: str, rest: str) -> Task:
    """Return a task, cached: a file has few tasks and repeats them in every line."""
    short = len(key) + len(target) + len(rest) <= SHORT
    return (_remembered if short else _made)(key, target, rest)


def _made(key: str, target: str, rest: str) -> Task:
    workload = items(from_text(key.encode()), "a workload key")
    expect(
        bool(workload) and isinstance(workload[0], str), "a workload key that begins with a name"
    )
    name = text(workload[0], "a name")
    return Task(NAME, key, "" if _DAG_HASH.fullmatch(name) else name, target, rest)


_remembered = lru_cache(maxsize=REMEMBERED)(_made)


def write_ansor(programs: Iterable[Program], file: IO[bytes]) -> None:
    """Write programs as lines that Ansor and ``read_ansor`` read."""
    for program in programs:
        expect(program.task.format == NAME, f"programs of {NAME}, not {program.task.format}")
        tree: dict[str, Any] = {
            "i": [
                [program.task.workload, program.task.target, *json.loads(program.task.details)],
                [[], json.loads(program.schedule)],
            ],
            "r": outcome_json(program),
            "v": program.version,
        }
        file.write(json.dumps(tree, allow_nan=False).encode() + b"\n")
