"""Small files of tuners' records, written here, and the programs that hypothesis draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from graph_net.programs.formats import Damage, Place, ProgramColumns
from graph_net.programs.formats.text_numbers import fill_numbers
from graph_net.results import Program

STEPS: list[Any] = [["SP", 0, 0, 64, [4, 2], 1], ["AN", 0, 1, 2], ["PR", 0, 0, "auto_unroll$16"]]
TRACE = [[["GetBlock", [], ["C", "main"], ["b0"]], ["Fuse", ["l1", "l2"], [1], ["l3"]]], [[1, [4]]]]
Found = list[tuple[Place, Program | Damage]]


def ansor(**changes: Any) -> dict[str, Any]:
    """An Ansor record; ``key``, ``target``, ``rest``, ``steps``, ``r`` and ``v`` may be other."""
    given = {
        "key": '["matmul", 64, 64]',
        "target": "llvm -mcpu=core-avx2",
        "rest": [[8, 64, 64, 0, 0, 0, 0, 0], "", 0, []],
        "steps": STEPS,
        "r": [[0.5, 0.25], 0, 2.5, 1638197554],
        "v": "v0.6",
    } | changes
    task = [given["key"], given["target"], *given["rest"]]
    return {"i": [task, [[], given["steps"]]], "r": given["r"], "v": given["v"]}


def autotvm(**changes: Any) -> dict[str, Any]:
    """A record of AutoTVM's version 0.2."""
    return {
        "input": ["llvm", "dense.x86", [["TENSOR", [1, 8], "float32"]], {}],
        "config": {"index": 3, "code_hash": None, "entity": [["tile", "sp", [-1, 8]]]},
        "result": [[0.5], 0, 1.0, 1600000000.5],
        "version": 0.2,
        "tvm_version": "0.8.0",
    } | changes


def meta(index: Any = 0, costs: Any = (0.5, 0.25), trace: Any = TRACE) -> list[Any]:
    """A MetaSchedule record."""
    return [index, [trace, costs, {"kind": "llvm"}, [["TENSOR", "float32", [8]]]]]


def t4(**changes: Any) -> dict[str, Any]:
    """A result of T4."""
    return {
        "timestamp": "2023-12-22 09:54:05.502007+00:00",
        "configuration": {"block": 16, "name, [odd]": 'a "quoted\\" {'},
        "times": {"compilation": 918.5, "framework": 2, "runtimes": [4.0, 2.0]},
        "invalidity": "correct",
        "correctness": 1,
        "measurements": [{"name": "time", "value": 3.0, "unit": ""}],
        "objectives": ["time"],
    } | changes


def lines(path: Path, *rows: Any) -> Path:
    """A file with a line for each row: bytes as they are, else as JSON."""
    path.write_bytes(b"".join(_line(row) + b"\n" for row in rows))
    return path


def _line(row: Any) -> bytes:
    return row if isinstance(row, bytes) else json.dumps(row).encode()


def programs(found: Found) -> list[Program]:
    """What could be read."""
    return [what for _, what in found if isinstance(what, Program)]


def damages(found: Found) -> list[tuple[int, str]]:
    """What could not: line and reason."""
    return [(place.line, what.reason) for place, what in found if isinstance(what, Damage)]


costs = st.lists(
    st.floats(min_value=1e-12, max_value=1e6, exclude_min=True), min_size=1, max_size=4
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)
"""Any JSON, for places where a reader keeps what it finds."""


def rows_of(block: ProgramColumns) -> list[tuple[int, Program]]:
    """The programs of a block, each with its line."""
    starts = (np.cumsum(block.repeats) - block.repeats).tolist()
    firsts = (np.cumsum(block.counts) - block.counts).tolist()
    return [
        (
            int(block.lines[row]),
            Program.from_log(
                block.tasks.values[block.tasks.index[row]],
                fill_numbers(
                    block.skeletons.values[block.skeletons.index[row]],
                    [
                        b"%d" % number
                        for number in block.numbers[firsts[row] : firsts[row] + block.counts[row]]
                    ],
                ).decode(),
                tuple(block.costs[starts[row] : starts[row] + block.repeats[row]].tolist()),
                block.failures.values[block.failures.index[row]],
                block.versions.values[block.versions.index[row]],
                float(block.seconds[row]),
                float(block.measured[row]),
                block.extras.values[block.extras.index[row]],
            ),
        )
        for row in range(len(block))
    ]
