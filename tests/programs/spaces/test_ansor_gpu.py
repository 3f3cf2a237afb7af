"""Ansor's schedules for a GPU as numbers: what three real ones mean, and what is refused."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.spaces import SpaceError
from graph_net.programs.spaces.ansor_gpu import NAMES, encode_gpu
from graph_net.programs.spaces.gpus import find_gpu
from programs.spaces.ansor_schedules import (
    CONVOLUTION,
    CONVOLUTION_SCHEDULE,
    DEPTHWISE,
    DEPTHWISE_SCHEDULE,
    MATMUL,
    MATMUL_SCHEDULE,
    convolution,
)

K80, V100 = find_gpu("K80"), find_gpu("V100")


def described(workload: str, schedule: str, gpu: Any = V100) -> dict[str, float]:
    (row,) = encode_gpu(workload, [schedule], gpu)
    return dict(zip(NAMES, row.tolist(), strict=True))


def powers(found: dict[str, float], *names: str) -> list[int]:
    """The numbers whose logarithms are among the features."""
    return [round(2 ** found[name]) for name in names]


SIZES = ("blocks", "threads", "vthreads", "work", "steps", "read0_cached", "read1_cached")


@pytest.mark.parametrize(
    ("workload", "schedule", "sizes"),
    [
        (CONVOLUTION, CONVOLUTION_SCHEDULE, [336, 336, 3, 84, 168, 2016, 504]),
        (DEPTHWISE, DEPTHWISE_SCHEDULE, [6272, 84, 3, 72, 1, 10560, 108]),
        (MATMUL, MATMUL_SCHEDULE, [5, 100, 8, 256, 112, 4608, 7200]),
    ],
    ids=["convolution", "depthwise", "matmul"],
)
def test_tiles_are_those_worked_out_by_hand(workload: str, schedule: str, sizes: list[int]) -> None:
    assert powers(described(workload, schedule), *SIZES) == sizes


def test_axes_are_told_apart_by_the_inputs_that_use_them() -> None:
    found = described(CONVOLUTION, CONVOLUTION_SCHEDULE)
    assert powers(found, "rows_block", "columns_block", "both_block") == [16 * 21, 84, 1]
    found = described(DEPTHWISE, DEPTHWISE_SCHEDULE)
    assert powers(found, "rows_block", "columns_block", "both_block") == [4 * 3 * 42, 1, 12]


def test_a_copy_is_shared_out_among_threads() -> None:
    """2016 numbers of images, three at once by 336 threads, are two rounds; 504 of filters too."""
    found = described(CONVOLUTION, CONVOLUTION_SCHEDULE)
    assert powers(found, "read0_vector", "read0_rounds", "read1_rounds") == [3, 2, 2]
    assert found["read0_busy"] == pytest.approx(2016 / (2 * 3 * 336))
    assert found["read1_busy"] == pytest.approx(504 / (2 * 336))


def test_neighbours_in_memory_are_counted_up_to_where_a_box_is_cut() -> None:
    """Rows of 21 whole pixels of one of 21 lines; six channels of a filter; rows of 36 and 200."""
    found = described(CONVOLUTION, CONVOLUTION_SCHEDULE)
    assert powers(found, "read0_run", "read1_run") == [21, 6]
    assert powers(described(MATMUL, MATMUL_SCHEDULE), "read0_run", "read1_run") == [36, 200]


def test_a_multiprocessor_holds_what_its_scarcest_resource_allows() -> None:
    """336 threads are eleven warps; 84 outputs, 19 inputs and an allowance are 127 registers."""
    for gpu, blocks in ((V100, 65536 // (352 * 128)), (K80, 131072 // (352 * 128))):
        found = described(CONVOLUTION, CONVOLUTION_SCHEDULE, gpu)
        assert powers(found, "resident") == [blocks]
        assert found["occupancy"] == pytest.approx(blocks * 352 / 2048)
        waves = 336 / (gpu.sms * blocks)
        assert found["tail"] == pytest.approx(waves / np.ceil(waves), rel=1e-5)


def test_tiles_that_do_not_divide_an_axis_are_waste() -> None:
    even = described(CONVOLUTION, CONVOLUTION_SCHEDULE)
    uneven = convolution([1, 4, 2, 2], [1, 12, 1, 7], [1, 2, 1, 1], [3, 7, 1, 1], [6, 1])
    assert even["waste"] == 0
    assert 2 ** described(CONVOLUTION, uneven)["waste"] == pytest.approx(22 / 21)


def test_what_is_of_the_device_alone_differs_between_devices() -> None:
    one, other = (described(CONVOLUTION, CONVOLUTION_SCHEDULE, gpu) for gpu in (K80, V100))
    assert one["work"] == other["work"]
    assert one["read0_cached"] == other["read0_cached"]
    assert one["blocks_per_sm"] > other["blocks_per_sm"]


def test_a_batch_is_its_schedules_one_by_one() -> None:
    other = convolution([2, 4, 1, 2], [1, 12, 7, 1], [1, 1, 1, 1], [1, 7, 3, 1], [3, 2])
    batch = encode_gpu(CONVOLUTION, [CONVOLUTION_SCHEDULE, other], V100)
    for row, schedule in zip(batch, [CONVOLUTION_SCHEDULE, other], strict=True):
        assert np.array_equal(row, encode_gpu(CONVOLUTION, [schedule], V100)[0])


def test_a_computation_that_is_not_known_is_described_by_its_steps() -> None:
    found = described('["0123456789abcdef0123456789abcdef", 1, 2]', CONVOLUTION_SCHEDULE)
    assert powers(found, *SIZES[:5]) == [336, 336, 3, 84, 168]
    assert found["is_convolution"] == 0


def test_steps_of_another_computation_are_refused() -> None:
    other = CONVOLUTION.replace("1008", "1024")
    with pytest.raises(SpaceError, match="another computation"):
        encode_gpu(other, [CONVOLUTION_SCHEDULE], V100)


@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "{}",
        "[[]]",
        '[["SP"]]',
        '[["??", 1]]',
        '[["AN", 0, 0, 3]]',
        '[["SP", 0, 0, 64, [0], 1], ["AN", 0, 0, 5]]',
        '[["SP", 0, 0, 64, [-4], 1], ["AN", 0, 0, 5]]',
        '[["SP", 0, 0, 64, [8.5], 1], ["AN", 0, 0, 5]]',
        '[["SP", 0, 0, 64, "8", 1], ["AN", 0, 0, 5]]',
        '[["SP", 0, 0, 1e99, [8], 1], ["AN", 0, 0, 5]]',
        '[["SP", 0, 100000000, 64, [8], 1]]',
        '[["SP", 100000000, 0, 64, [8], 1]]',
        '[["SP", -1, 0, 64, [8], 1], ["AN", 0, 0, 5]]',
        '[["SP", 0, 0, 64, [1099511627776, 1099511627776], 1], ["AN", 0, 0, 5]]',
        '[["FSP", 0, 0, 7, 1]]',
        '[["FU", 0, [0, 2]]]',
        '[["FU", 0, []]]',
        '[["RE", 0, [0, 0]]]',
        '[["CA", 0, 1, -3]]',
        "[" + ",".join(['["CI", 0]'] * 1000) + "]",
        "[" + ",".join(['["CHW", 0, "local"]'] * 300) + "]",
        "[" * 100_000,
    ],
)
def test_what_no_search_writes_is_refused(schedule: str) -> None:
    with pytest.raises(SpaceError):
        encode_gpu("[]", [schedule], V100)


@pytest.mark.parametrize(
    "workload",
    ['["matmul_layer", 1, 2]', '["matmul_layer", 0, 1, 1]', '["matmul_layer", "a", 1, 1]',
     '["conv2d_layer", 1, 1, 2, 2, 1, 3, 3, 1, "VALID"]', "7", "", '["relu_layer", 1e99]'],
)  # fmt: skip
def test_a_workload_that_is_none_is_refused(workload: str) -> None:
    with pytest.raises(SpaceError):
        encode_gpu(workload, [MATMUL_SCHEDULE], V100)


number: st.SearchStrategy[Any] = st.integers(-2, 40) | st.sampled_from(
    [10**9, 2**41, 10**30, None, True, 1.5, "x", []]
)
step = st.tuples(
    st.sampled_from("AN FU PR RE SP FSP FFSP SA CA CI CR CHR CHW RF".split()),
    st.lists(number | st.lists(number, max_size=5), max_size=5),
).map(lambda found: [found[0], *found[1]])


@given(st.lists(step, max_size=12), st.sampled_from([CONVOLUTION, MATMUL, '["other", 3]']))
def test_any_steps_are_numbers_or_a_space_error(steps: list[Any], workload: str) -> None:
    full = [*steps, *json.loads(MATMUL_SCHEDULE)]
    for schedule in (steps, full, [*json.loads(MATMUL_SCHEDULE), *steps]):
        try:
            row = encode_gpu(workload, [json.dumps(schedule)], V100)
        except SpaceError:
            continue
        assert np.isfinite(row).all()


@pytest.mark.parametrize("platform", ["k80", "v100"])
def test_every_real_schedule_is_described(real_files: Path, platform: str) -> None:
    for path in sorted((real_files / "ansor" / platform).glob("*.json.gz")):
        check_rows(path, platform, 1 if "slices" in path.parts else 97)


def check_rows(path: Path, platform: str, every: int) -> None:
    tasks: dict[str, list[str]] = {}
    with gzip.open(path) as file:
        for line in islice(file, 0, None, every):
            (task, state) = json.loads(line)["i"]
            tasks.setdefault(task[0], []).append(json.dumps(state[1]))
    for workload, schedules in tasks.items():
        rows = encode_gpu(workload, schedules, find_gpu(platform))
        assert rows.shape == (len(schedules), len(NAMES))
        assert np.isfinite(rows).all()
        threads = rows[:, NAMES.index("threads")]
        assert (threads <= 10).all(), "no block has more than 1024 threads"
