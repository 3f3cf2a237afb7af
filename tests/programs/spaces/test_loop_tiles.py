"""A CPU schedule as its loops: sizes follow from the trace, whatever is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.learn.program_features import MOST_CORES, cores_of
from graph_net.programs.spaces import SpaceError
from graph_net.programs.spaces.loop_tiles import COLUMNS, LoopTileEncoder
from programs.spaces.test_primitives import decision, instruction

PLACE = Path(__file__).parents[3] / "dataset" / "programs" / "cpu"
PRODUCT = [
    ["GetSBlock", [], ["matmul", "main"], ["b0"]],
    ["GetSBlock", [], ["root", "main"], ["b1"]],
    ["Annotate", ["b0", '"SSRSRS"'], ["meta_schedule.tiling_structure"], []],
    ["GetLoops", ["b0"], [], ["l0", "l1", "l2"]],
    ["SamplePerfectTile", ["l0"], [4, 64], ["v0", "v1", "v2", "v3"]],
    ["Split", ["l0", "v0", "v1", "v2", "v3"], [1, 0], ["m0", "m1", "m2", "m3"]],
    ["SamplePerfectTile", ["l1"], [4, 64], ["v4", "v5", "v6", "v7"]],
    ["Split", ["l1", "v4", "v5", "v6", "v7"], [1, 0], ["n0", "n1", "n2", "n3"]],
    ["SamplePerfectTile", ["l2"], [2, 64], ["v8", "v9"]],
    ["Split", ["l2", "v8", "v9"], [1, 0], ["k0", "k1"]],
    ["Reorder", ["m0", "n0", "m1", "n1", "k0", "m2", "n2", "k1", "m3", "n3"], [], []],
    ["CacheWrite", ["b0", []], [0, "global"], ["b2"]],
    ["ReverseComputeAt", ["b2", "n1"], [1, -1], []],
    ["SampleCategorical", [], [[0, 16, 64, 512], [0.25, 0.25, 0.25, 0.25]], ["v10"]],
    ["Annotate", ["b1", "v10"], ["meta_schedule.unroll_explicit"], []],
    ["EnterPostproc", [], [], []],
    ["GetLoops", ["b0"], [], [f"p{n}" for n in range(10)]],
    ["Fuse", ["p0", "p1"], [1], ["p10"]],
    ["Parallel", ["p10"], [], []],
    ["Fuse", ["p9"], [1], ["p11"]],
    ["Vectorize", ["p11"], [], []],
]
DECISIONS = [[4, [3, 2, 4, 8]], [6, [2, 1, 4, 16]], [8, [32, 4]], [13, 2]]


def row_of(instructions: list[Any], decisions: list[Any], cores: int = 2) -> dict[str, float]:
    (row,) = LoopTileEncoder(cores).encode([json.dumps([instructions, decisions])])
    return dict(zip(COLUMNS, row.tolist(), strict=True))


def test_tiles_are_logarithms_from_the_innermost_loop_out() -> None:
    row = row_of(PRODUCT, DECISIONS)
    assert [row[f"axis0_part{part}"] for part in range(4)] == [1, 0, 2, 4]
    assert [row[f"axis1_part{part}"] for part in (1, 2, 3)] == [1, 2, 3]
    assert [row[f"sum0_part{part}"] for part in range(2)] == [5, 2]
    assert (row["spatial_loops"], row["sum_loops"], row["is_matmul"]) == (2, 1, 1)


def test_vectors_threads_and_unrolling_follow_from_the_postprocessing() -> None:
    row = row_of(PRODUCT, DECISIONS)
    assert (row["vector"], row["vector_of_16"], row["vector_filled"]) == (4, 1, 1)
    assert row["parallel"] == pytest.approx(np.log2(6))
    assert row["imbalance"] == 1
    assert row_of(PRODUCT, DECISIONS, cores=4)["imbalance"] == pytest.approx(8 / 6)
    # 8 rows and 4 steps of the sum are within 64; with 4 columns more they are not
    assert (row["unrolled"], row["unrolled_loops"]) == (5, 2)
    assert row["accumulators"] == 3


def test_working_sets_are_those_of_a_product() -> None:
    row = row_of(PRODUCT, DECISIONS)
    # inside of the sum: 8 by 4 of the left, 4 by 16 of the right, 8 by 16 of the result
    assert (row["left_level0"], row["right_level0"], row["result_level0"]) == (5, 6, 7)
    assert row["touched_level0"] == pytest.approx(np.log2(32 + 64 + 128))
    assert row["intensity_level0"] == pytest.approx(np.log2(8 * 16 * 4 / 224))
    assert row["loads"] == pytest.approx(1 / 8 + 1 / 16)


def test_a_consumer_has_its_place_and_what_is_inside_of_it() -> None:
    row = row_of(PRODUCT, DECISIONS)
    assert (row["consumer0_at"], row["consumer1_at"]) == (3, -2)
    assert row["consumer0_inside"] == 5 + 2 + 2 + 2 + 3 + 4
    assert row["cache_writes"] == 1


def test_programs_are_described_alike_alone_and_together() -> None:
    other = [[4, [1, 1, 1, 192]], *DECISIONS[1:]]
    texts = [json.dumps([PRODUCT, drawn]) for drawn in (DECISIONS, other)]
    texts.append(json.dumps([PRODUCT[:-2], DECISIONS]))
    encoder = LoopTileEncoder(2)
    together = encoder.encode(texts)
    assert np.array_equal(together, np.concatenate([encoder.encode([text]) for text in texts]))
    assert len({row.tobytes() for row in together}) == 3


@given(st.lists(instruction, max_size=12), st.lists(decision, max_size=6))
def test_whatever_a_trace_holds_its_numbers_are_finite(instructions: Any, decided: Any) -> None:
    try:
        rows = LoopTileEncoder(2).encode([json.dumps([instructions, decided])])
    except SpaceError:
        return
    assert rows.shape == (1, len(COLUMNS))
    assert np.isfinite(rows).all()


@given(st.lists(st.integers(-(2**70), 2**70), min_size=4, max_size=4))
def test_sizes_beyond_any_machine_are_finite(sizes: list[int]) -> None:
    drawn = [[4, sizes], [6, sizes], [8, sizes[:2]], [13, sizes[0]]]
    assert np.isfinite(list(row_of(PRODUCT, drawn).values())).all()


@pytest.mark.parametrize("text", ["", "[]", "[[[1]],[]]", "[[],[[0]]]", "7"])
def test_what_is_no_trace_is_an_error(text: str) -> None:
    with pytest.raises(SpaceError, match="not a trace"):
        LoopTileEncoder(2).encode([text])


def test_nearly_all_shipped_programs_of_a_task_are_told_apart() -> None:
    """A few differ in what the loops do not show, such as where a small block is computed."""
    columns = ["workload", "schedule"]
    table = pq.read_table(PLACE / "programs-plain.parquet", columns=columns).slice(0, 4000)
    tasks: dict[str, set[str]] = {}
    for row in table.to_pylist():
        tasks.setdefault(row["workload"], set()).add(row["schedule"])
    several = [sorted(schedules) for schedules in tasks.values() if len(schedules) > 8]
    assert several
    for schedules in several:
        rows = LoopTileEncoder(2).encode(schedules)
        assert len({row.tobytes() for row in rows}) > 0.9 * len(schedules)


@pytest.mark.parametrize(
    ("target", "cores"),
    [
        ('{"kind":"llvm","num-cores":8}', 8),
        ('{"kind":"llvm"}', 1),
        ('{"kind":"llvm","num-cores":-3}', 1),
        ('{"kind":"llvm","num-cores":1' + "0" * 60 + "}", MOST_CORES),
        ('{"kind":"llvm","num-cores":1e999}', 0),
        ('{"kind":"llvm","num-cores":null}', 0),
        ('{"kind":"cuda","num-cores":8}', 0),
        ("llvm -num-cores 8", 0),
        ("[]", 0),
    ],
)
def test_the_cores_of_a_target_are_bounded(target: str, cores: int) -> None:
    assert cores_of(target) == cores
