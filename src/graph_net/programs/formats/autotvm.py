"""AutoTVM's logs: one JSON object per line, in either of two versions.

Its other protocol holds pickles. Unpickling runs code, so such a line is skipped and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from graph_net.programs.formats.outcome import outcome_json, read_outcome
from graph_net.programs.formats.values import expect, fields, from_text, items, text, to_text
from graph_net.results import Program, Task
from graph_net.store.lines import (
    DEFAULT_LIMITS,
    Damage,
    Place,
    ReadError,
    ReadLimits,
    read_lines,
)

NAME = "autotvm"
ARGUMENTS, OPTIONS, WORKLOAD = "arguments", "options", "workload"
"""Keys of a task's details, which are present if the line has the layout of version 0.1.

``arguments`` and ``options`` if the line also has a workload; ``workload`` if it has none. The
later layout needs no details: its workload is the name, the arguments and the options.
"""
PICKLED = "a pickle, which runs code when it is read"


def read_autotvm(
    path: Path, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, Program | Damage]]:
    """Yield the programs of a file, in order; lines that begin with # are comments."""
    for place, line in read_lines(path, limits):
        if isinstance(line, Damage):
            yield place, line
        elif is_pickle(line):
            yield place, Damage(PICKLED)
        elif not line.startswith(b"#"):
            try:
                yield place, _program(fields(from_text(line), "a record"))
            except ReadError as error:
                yield place, Damage(str(error))


def is_pickle(line: bytes) -> bool:
    """Return whether a line uses the pickle protocol: a target, then three texts in base 64."""
    parts = line.strip().split(b"\t")
    return len(parts) == 4 and not line.lstrip().startswith((b"{", b"["))


def _program(tree: dict[str, Any]) -> Program:
    if "v" in tree:
        target, name, arguments, options, workload, config = items(tree.get("i"), "an input", 6)
        version, result, details = tree["v"], tree.get("r"), {WORKLOAD: None}
        _check(config, "e")
        if workload is not None:
            details = {ARGUMENTS: arguments, OPTIONS: options}
    else:
        target, name, arguments, options = items(tree.get("input"), "an input", 4)
        workload, config, details = None, tree.get("config"), None
        version, result = tree.get("version"), tree.get("result")
        _check(config, "entity")
    expect(version in (0.1, 0.2), "version 0.1 or 0.2")
    outcome = read_outcome(result)
    kernel = text(name, "a name of a task")
    known = workload if workload is not None else [kernel, arguments, options]
    tvm = tree.get("tvm_version")
    said = "" if details is None else to_text(details)
    return Program.from_log(
        Task(NAME, to_text(known), kernel, text(target, "a target"), said),
        to_text(config),
        outcome.costs,
        outcome.failure,
        str(version),
        outcome.seconds,
        outcome.measured,
        "" if tvm is None else to_text({"tvm_version": text(tvm, "a version of TVM")}),
    )


def _check(config: Any, entities: str) -> None:
    """Raise ReadError unless the configuration has entities under the key of its layout."""
    items(fields(config, "a configuration").get(entities), "the entities of a configuration")


def write_autotvm(programs: Iterable[Program], file: IO[bytes]) -> None:
    """Write programs as lines that AutoTVM and ``read_autotvm`` read, in their original layout."""
    for program in programs:
        expect(program.task.format == NAME, f"programs of {NAME}, not {program.task.format}")
        tree = _short(program) if program.task.details else _long(program)
        tree |= json.loads(program.extra) if program.extra else {}
        file.write(json.dumps(tree, allow_nan=False).encode() + b"\n")


def _short(program: Program) -> dict[str, Any]:
    """Return a program as a line of version 0.1, where one list holds everything."""
    task, config = program.task, json.loads(program.schedule)
    _check(config, "e")
    details = fields(json.loads(task.details), "details")
    if WORKLOAD in details:
        named = [*_called(task), None]
    else:
        named = [details.get(ARGUMENTS), details.get(OPTIONS), json.loads(task.workload)]
    given = [task.target, task.kernel, *named, config]
    return {"i": given, "r": outcome_json(program), "v": float(program.version)}


def _long(program: Program) -> dict[str, Any]:
    """Return a program as a line of version 0.2."""
    task, config = program.task, json.loads(program.schedule)
    _check(config, "entity")
    return {
        "input": [task.target, task.kernel, *_called(task)],
        "config": config,
        "result": outcome_json(program),
        "version": float(program.version),
    }


def _called(task: Task) -> list[Any]:
    """Return the arguments and options of a task whose workload is made of them."""
    return items(json.loads(task.workload), "a task's name, arguments and options", 3)[1:]
