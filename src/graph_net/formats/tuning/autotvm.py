"""AutoTVM's logs: a JSON object a line, in the two versions there were.

Its other protocol holds pickles. Unpickling runs code, so such a line is passed over and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graph_net.formats.tuning.outcome import read_outcome
from graph_net.formats.tuning.stream import (
    DEFAULT_LIMITS,
    Damage,
    Limits,
    Place,
    TuningError,
    read_lines,
)
from graph_net.formats.tuning.values import decoded, expect, fields, items, stored, text
from graph_net.record import Program, Task

NAME = "autotvm"
PICKLED = "a pickle, which runs code when it is read"


def read_autotvm(
    path: Path, limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, Program | Damage]]:
    """The programs of a file, in order; lines that begin with # are comments."""
    for place, line in read_lines(path, limits):
        if isinstance(line, Damage):
            yield place, line
        elif is_pickle(line):
            yield place, Damage(PICKLED)
        elif not line.startswith(b"#"):
            try:
                yield place, _program(fields(decoded(line), "a record"))
            except TuningError as error:
                yield place, Damage(str(error))


def is_pickle(line: bytes) -> bool:
    """Whether a line is of the protocol with pickles: a target and three texts in base 64."""
    parts = line.strip().split(b"\t")
    return len(parts) == 4 and not line.lstrip().startswith((b"{", b"["))


def _program(tree: dict[str, Any]) -> Program:
    if "v" in tree:
        target, name, arguments, options, workload, config = items(tree.get("i"), "an input", 6)
        version, result, entities = tree["v"], tree.get("r"), "e"
    else:
        target, name, arguments, options = items(tree.get("input"), "an input", 4)
        workload, config = None, tree.get("config")
        version, result, entities = tree.get("version"), tree.get("result"), "entity"
    items(fields(config, "a configuration").get(entities), "the entities of a configuration")
    expect(version in (0.1, 0.2), "version 0.1 or 0.2")
    outcome = read_outcome(result)
    kernel = text(name, "a name of a task")
    known = workload if workload is not None else [kernel, arguments, options]
    tvm = tree.get("tvm_version")
    return Program(
        Task(NAME, stored(known), kernel, text(target, "a target")),
        stored(config),
        outcome.costs,
        outcome.failure,
        str(version),
        outcome.seconds,
        outcome.measured,
        "" if tvm is None else stored({"tvm_version": text(tvm, "a version of TVM")}),
    )
