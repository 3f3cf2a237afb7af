"""Features of Triton programs: many at once as one by one, and as the family says."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_net.programs.triton import H200
from graph_net.programs.triton.family import BYTES, Config, Family
from graph_net.programs.triton.features import NAMES, features_of, features_of_many
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.gemm_features import GemmPrograms
from graph_net.programs.triton.occupancy import Filling, resident_blocks
from programs.triton.test_triton_space import GOOD, MODULES, space


def known(family: Family, config: Config) -> dict[str, float]:
    """Return what the family itself says of one program."""
    x, y, z = family.launches(config)[0].grid
    waves = x * y * z / family.target.sms
    workspace = family.workspace(config)
    rows, columns = (
        (family.m, family.n)
        if isinstance(family, Gemm)
        else (family.module["rows"], family.module["columns"])
    )
    tile = config.get("block_m", config.get("block_rows", 1))
    side = config.get("block_n", config.get("block_columns", 1))
    magnitudes = {
        **config,
        "rows": rows,
        "columns": columns,
        "flops": family.flops(),
        "bytes": family.bytes(),
        "intensity": family.flops() / family.bytes(),
        "shared": family.shared(config),
        "blocks_by_shared": family.target.shared / max(family.shared(config), 1024),
        "per_thread": family.per_thread(config),
        "traffic": family.traffic(config),
        "traffic_over_bytes": family.traffic(config) / family.bytes(),
        "programs": x * y * z,
        "waves": waves,
        "parts_bytes": workspace.bytes if workspace else 0,
    }
    return {name: math.log2(1 + size) for name, size in magnitudes.items()} | {
        "bytes_a_number": BYTES[family.dtype],
        "last_wave": waves % 1,
        "launches": len(family.launches(config)),
        "row_waste": 1 - rows / (-(-rows // tile) * tile),
        "column_waste": 1 - columns / (-(-columns // side) * side),
    }


@settings(deadline=None)
@given(st.sampled_from(sorted(MODULES)), st.integers(1, 1 << 30))
def test_features_are_what_the_family_says(name: str, seed: int) -> None:
    of = space(name)
    schedule = of.draw(seed)
    assert schedule is not None
    expected = known(of.family, json.loads(schedule))
    found = dict(zip(NAMES, of.encode(schedule).tolist(), strict=True))
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-6, abs=1e-6)


@settings(deadline=None)
@given(st.sampled_from(sorted(MODULES)), st.integers(1, 1 << 30))
def test_many_at_once_are_as_one_by_one(name: str, seed: int) -> None:
    of = space(name)
    drawn = list(of.sample(9, seed))
    one_by_one = np.stack([of.encode(schedule) for schedule in drawn])
    assert np.array_equal(of.encode_many(drawn), one_by_one)
    assert np.array_equal(features_of(of.family, json.loads(drawn[0])), one_by_one[0])


@pytest.mark.parametrize("name", ["softmax", "tf32"])
def test_a_whole_space_is_described_at_once(name: str) -> None:
    of = space(name)
    configs = of.all_configs
    rows = of.encode_configs(configs)
    assert rows.shape == (of.count(), len(NAMES))
    assert np.isfinite(rows).all()
    assert np.unique(rows, axis=0).shape == rows.shape
    assert of.encode_many([]).shape == (0, len(NAMES))


def test_names_are_distinct() -> None:
    assert len(set(NAMES)) == len(NAMES)


def columns(**changes: int) -> dict[str, np.ndarray]:
    return {name: np.array([value]) for name, value in {**GOOD, **changes}.items()}


@pytest.mark.parametrize(
    ("changes", "grid"),
    [
        ({"block_m": 128, "num_warps": 8}, (8, 1)),
        ({"block_m": 64, "num_warps": 8}, (4, 2)),
        ({"block_m": 32, "block_n": 128, "num_warps": 4}, (1, 4)),
        ({"block_m": 16, "block_n": 16, "num_warps": 2}, (1, 2)),
        ({"block_m": 128, "block_n": 32, "num_warps": 2}, (2, 1)),
    ],
)
def test_warps_are_placed_along_rows_first_where_they_are_grouped(
    changes: dict[str, int], grid: tuple[int, int]
) -> None:
    family = space("matmul").family
    assert isinstance(family, Gemm)
    rows, along = GemmPrograms(family, columns(**changes)).warp_grid
    assert (rows[0], along[0]) == grid


@pytest.mark.parametrize(
    ("warps", "registers", "shared", "blocks"),
    [
        (4, 32, 0, 16),
        (8, 128, 0, 2),
        (8, 129, 0, 1),
        (4, 32, 100 << 10, 2),
        (1, 16, 0, 32),
        (16, 255, H200.shared, 1),
    ],
)
def test_registers_and_shared_memory_bound_the_blocks_of_a_multiprocessor(
    warps: int, registers: int, shared: int, blocks: int
) -> None:
    numbers = (np.array([float(number)]) for number in (warps, registers, shared))
    assert resident_blocks(H200, *numbers)[0] == blocks


def test_a_last_turn_that_is_nearly_empty_is_no_balance() -> None:
    one = np.ones(2)
    filled = Filling.of(H200, np.array([264.0, 265.0]), 32 * one, 64 * one, 0 * one)
    assert filled.resident.tolist() == [1, 1]
    assert filled.turns.tolist() == [2, 3]
    assert filled.balance.tolist() == pytest.approx([1, 265 / 396])


def test_features_of_a_batch_do_not_depend_on_its_size() -> None:
    of = space("convolution")
    configs = of.all_configs
    few = {name: values[5:12] for name, values in configs.items()}
    assert np.array_equal(
        features_of_many(of.family, few), features_of_many(of.family, configs)[5:12]
    )


@pytest.mark.parametrize(("block_k", "lines"), [(16, 256), (64, 256), (128, 512)])
def test_short_rows_take_a_cache_line_each(block_k: int, lines: int) -> None:
    """Two tiles of 128 rows: a row of 32 bytes costs as much as one of 128."""
    family = space("matmul").family
    assert isinstance(family, Gemm)
    few_loads = columns(block_k=block_k, num_warps=4)
    assert GemmPrograms(family, few_loads).lines[0] == lines


def test_loads_that_are_too_short_to_be_asynchronous_wait_in_registers() -> None:
    odd = space("matmul").family.__class__({**MODULES["matmul"], "k": 767, "n": 768}, H200)
    assert isinstance(odd, Gemm)
    programs = GemmPrograms(odd, columns())
    assert programs.vectors == (2, 2, 16)
    assert programs.synchronous.all()
