"""The space of Triton programs, as far as it is known without compiling one."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_net.programs.spaces import SpaceError, space_of
from graph_net.programs.triton import H200, Target, TritonSpace, workload_of
from graph_net.programs.triton.features import NAMES
from graph_net.programs.triton.gemm import Epilogue
from graph_net.programs.triton.layers import batched, conv, linear

MODULES = {
    "matmul": linear(512, 768, 768, "float16", "bias_gelu"),
    "tf32": linear(33, 50, 130, "tf32", "bias_add_relu"),
    "batched": batched(12, 197, 64, 197, "bfloat16", False),
    "convolution": conv(1, 56, 64, 64, 3, "float16", "bias_relu", 2),
    "softmax": {"kernel": "softmax", "rows": 1536, "columns": 1000, "dtype": "float32"},
    "layer_norm": {"kernel": "layer_norm", "rows": 128, "columns": 768, "dtype": "float16"},
    "rms_norm": {"kernel": "rms_norm", "rows": 16, "columns": 4096, "dtype": "bfloat16"},
    "row_sum": {"kernel": "row_sum", "rows": 2048, "columns": 10000, "dtype": "float16"},
}
GOOD = {
    "block_m": 128,
    "block_n": 128,
    "block_k": 32,
    "num_warps": 8,
    "num_stages": 4,
    "group_m": 1,
    "split_k": 1,
}
ROWS = {
    "block_rows": 4,
    "block_columns": 256,
    "num_warps": 4,
    "num_stages": 2,
    "per_program": 1,
    "split_columns": 1,
}


def space(name: str) -> TritonSpace:
    return TritonSpace(workload_of(MODULES[name]), H200.text)


def dumps(config: dict[str, int]) -> str:
    return json.dumps(config)


@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
def test_a_sample_that_is_large_enough_has_every_program_once(name: str) -> None:
    of = space(name)
    drawn = list(of.sample(1_000_000, 7))
    assert len(set(drawn)) == len(drawn) == of.count()
    assert list(of.sample(len(drawn) - 1, 7)) == drawn[:-1]


def test_the_registry_makes_it() -> None:
    found = space_of(workload_of(MODULES["matmul"]), H200.text)
    assert isinstance(found, TritonSpace)
    assert json.loads(found.target)["arch"] == "sm_90"


@pytest.mark.parametrize("name", MODULES)
def test_the_count_is_that_of_all_choices_that_are_not_wrong(name: str) -> None:
    of = space(name)
    parameters = of.family.parameters()
    good = sum(
        of.wrong(dumps(dict(zip(parameters, chosen, strict=True)))) is None
        for chosen in itertools.product(*parameters.values())
    )
    assert of.count() == good > 0


@pytest.mark.parametrize("name", MODULES)
def test_a_sample_is_good_distinct_and_begins_every_longer_one(name: str) -> None:
    of = space(name)
    drawn = list(of.sample(40, 7))
    assert len(set(drawn)) == 40
    assert all(of.wrong(schedule) is None for schedule in drawn)
    assert list(of.sample(10, 7)) == drawn[:10]
    assert list(of.sample(40, 8)) != drawn


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(MODULES)), st.integers(1, 1 << 30), st.integers(1, 1 << 30))
def test_a_mutation_is_a_neighbour(name: str, seed: int, step: int) -> None:
    of = space(name)
    schedule = of.draw(seed)
    assert schedule is not None
    changed = of.mutate(schedule, step)
    assert changed is not None
    assert changed == of.mutate(schedule, step)
    assert of.wrong(changed) is None
    before, after = json.loads(schedule), json.loads(changed)
    (name,) = [key for key in before if before[key] != after[key]]
    values = of.family.parameters()[name]
    assert abs(values.index(before[name]) - values.index(after[name])) == 1


@pytest.mark.parametrize("name", MODULES)
def test_features_have_one_shape_and_tell_programs_apart(name: str) -> None:
    of = space(name)
    drawn = list(of.sample(30, 3))
    rows = np.stack([of.encode(schedule) for schedule in drawn])
    assert rows.shape == (30, len(NAMES))
    assert np.isfinite(rows).all()
    assert len({row.tobytes() for row in rows}) == 30


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"block_m": 256, "block_n": 256, "num_warps": 4}, "accumulators"),
        ({"block_k": 128, "num_stages": 6}, "shared memory"),
        ({"block_m": 16, "block_n": 16, "num_warps": 16}, "16 warps"),
        ({"group_m": 8}, "groups of 8"),
        ({"split_k": 16, "num_stages": 1}, "nothing to do"),
        ({"split_k": 8}, "more stages than steps"),
        ({"block_m": 100}, "block_m is one of"),
    ],
)
def test_what_is_wrong_with_a_product(change: dict[str, int], reason: str) -> None:
    of = space("matmul")
    assert of.wrong(dumps(GOOD)) is None
    found = of.wrong(dumps({**GOOD, **change}))
    assert found is not None
    assert reason in found


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"block_columns": 2048}, "more than the 768"),
        ({"block_rows": 32, "block_columns": 1024, "num_stages": 1, "num_warps": 1}, "a thread"),
        ({"block_rows": 1, "block_columns": 64}, "128 threads for 64"),
        ({"num_stages": 4}, "more stages than steps"),
        ({"block_rows": 32, "per_program": 8}, "more rows a program"),
        ({"split_columns": 2}, "split_columns is one of"),
    ],
)
def test_what_is_wrong_with_rows(change: dict[str, int], reason: str) -> None:
    of = space("layer_norm")
    assert of.wrong(dumps(ROWS)) is None
    found = of.wrong(dumps({**ROWS, **change}))
    assert found is not None
    assert reason in found


def test_a_smaller_gpu_has_fewer_programs() -> None:
    work = workload_of(MODULES["matmul"])
    small = Target(name="T4", arch="sm_75", sms=40, shared=65536)
    assert TritonSpace(work, small.text).count() < TritonSpace(work, H200.text).count()


def test_tiles_of_warp_groups_stay_a_stage_longer() -> None:
    """As triton 3.6 was seen to allocate: 6 stages of 128 × 64 × 32 by 8 warps, 73,728 bytes."""
    family = space("matmul").family
    grouped = {**GOOD, "block_n": 64, "num_stages": 6}
    assert family.shared(grouped) == 73728
    alone = {**GOOD, "block_m": 32, "block_k": 128, "num_warps": 4, "num_stages": 5}
    assert family.shared(alone) == 163840


@pytest.mark.parametrize("schedule", ["", "[]", "{}", '{"block_m": true}', '{"block_m": 64}'])
def test_what_is_no_schedule_is_told(schedule: str) -> None:
    of = space("matmul")
    assert of.wrong(schedule) is not None
    with pytest.raises(SpaceError, match="no program of"):
        of.encode(schedule)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kernel": "fft"}, "unknown kernel"),
        ({"dtype": "int8"}, "unknown dtype"),
        ({"m": 0}, "m is a whole number"),
        ({"m": 1 << 20, "k": 1 << 12}, "elements"),
        ({"epilogue": "relu_bias"}, "unknown epilogue"),
        ({"colour": 1}, "a workload has"),
    ],
)
def test_a_workload_is_checked(change: dict[str, object], reason: str) -> None:
    with pytest.raises(SpaceError, match=reason):
        workload_of({**MODULES["matmul"], **change})


def test_a_target_is_checked() -> None:
    with pytest.raises(SpaceError, match="no CUDA target"):
        TritonSpace(workload_of(MODULES["matmul"]), '{"kind": "llvm"}')


def test_an_epilogue_is_its_parts_in_order() -> None:
    assert Epilogue.read("none") == Epilogue()
    assert Epilogue.read("bias_add_relu6") == Epilogue(True, True, "relu6")
    assert Epilogue.read("silu") == Epilogue(activation="silu")
    for wrong in ("", "bias_bias", "add_bias", "relu_gelu", "none_bias"):
        with pytest.raises(SpaceError):
            Epilogue.read(wrong)


def test_split_k_adds_its_parts_without_atomics() -> None:
    family = space("matmul").family
    config = {**GOOD, "split_k": 2}
    first, second = family.launches(config)
    assert first.buffers[-1] == "parts"
    assert second.kernel == "add_parts"
    assert second.buffers[-1] == "out"
    parts = family.workspace(config)
    assert parts is not None
    assert parts.shape == (2, 1, 512, 768)


@pytest.mark.parametrize("name", MODULES)
def test_the_code_names_every_launch(name: str) -> None:
    of = space(name)
    schedule = of.draw(1)
    assert schedule is not None
    code = of.code(schedule)
    assert schedule in code
    for launch in of.family.launches(of.config(schedule)):
        assert f"# {launch.kernel}[" in code
        assert f"def {launch.kernel}(" in code or launch.kernel == "add_parts"
