"""Rooflines: what they say of simple programs, and constants that are found again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from graph_net.learn.analytical import Analytical, FittedRoofline
from graph_net.learn.cost_model import Domain, save_model
from graph_net.learn.learning_set import LearnError, LearningSet, LearningTask, tabular_set
from graph_net.learn.metrics import Floats, TaskCosts, best_over_picked
from graph_net.learn.model_registry import create_model, load_model
from graph_net.learn.rooflines import CPU, GPU, ROOFLINES, RooflineFormula
from graph_net.programs.triton.features import NAMES
from graph_net.programs.triton.space import TritonSpace, workload_of
from graph_net.programs.triton.target import H200
from graph_net.testing.cost_model import check_cost_model, easy_set

PRODUCT = {"kernel": "matmul", "epilogue": "none", "transposed": False}
TASKS = [
    {**PRODUCT, "m": m, "n": n, "k": k, "dtype": dtype}
    for m, n, k, dtype in [
        (4096, 4096, 1024, "float16"),
        (512, 2048, 512, "tf32"),
        (256, 512, 4096, "bfloat16"),
        (8192, 256, 256, "float16"),
    ]
] + [{"kernel": "softmax", "rows": 4096, "columns": 2000, "dtype": "float32"}]


def with_costs(
    roofline: RooflineFormula, data: LearningSet, constants: dict[str, float]
) -> LearningSet:
    """Return the set with the costs that a roofline of these constants gives, and some noise."""
    model = Analytical()
    model.domain = Domain.of(data)
    model.fitted = FittedRoofline(
        next(name for name, known in ROOFLINES.items() if known is roofline), constants
    )
    noise = np.exp(np.random.default_rng(0).normal(0, 0.05, len(data)))
    costs = TaskCosts.of(model.seconds(data) * noise, data.programs.tasks)
    return replace(data, programs=costs)


def triton_set(programs: int = 60) -> LearningSet:
    """Programs of real spaces, not yet measured."""
    spaces = [TritonSpace(workload_of(task), H200.text) for task in TASKS]
    drawn = [[space.draw(seed) for seed in range(programs)] for space in spaces]
    rows = np.stack([
        space.encode(schedule)
        for space, some in zip(spaces, drawn, strict=True)
        for schedule in some
        if schedule is not None
    ])  # fmt: skip
    index = np.repeat(np.arange(len(TASKS)), programs)
    described = [LearningTask(str(task["kernel"])) for task in TASKS]
    return tabular_set(NAMES, rows, np.ones(len(rows)), index, described)


OTHER = {**GPU.constants, "peak_16": 2e14, "cache": 4e12, "launch": 8e-6, "step": 1e-6}


def store_set(tasks: int = 8, programs: int = 24) -> LearningSet:
    """Programs of two stores with random loops, not yet measured."""
    generator = np.random.default_rng(0)
    rows = np.zeros((2 * tasks * programs, 164), np.float32)
    for column in CPU.columns:
        rows[:, int(column.rpartition(".")[2])] = generator.uniform(10, 20, len(rows))
    rows[:, 18] = generator.choice([0, 2, 3, 4], len(rows))
    rows[:, 39] = generator.choice([0, 3], len(rows))
    starts = np.arange(0, len(rows) + 1, 2)
    costs = TaskCosts.of(np.ones(tasks * programs), np.repeat(np.arange(tasks), programs))
    described = tuple(LearningTask(f"task {index}") for index in range(tasks))
    names = tuple(f"store.{place:03}" for place in range(164))
    return LearningSet(names, rows, starts, costs, described)


def numbers(**values: float) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(float(value)) for name, value in values.items()}


def one_block(**changes: float) -> dict[str, torch.Tensor]:
    """A product of a thousand full waves that nothing but arithmetic limits."""
    return numbers(**{
        "waves": 1000, "num_warps": 8, "per_thread": 64, "blocks_by_shared": 1, "depth": 1024,
        "taps": 1, "block_k": 64, "split_k": 1, "flops": 1e12, "traffic": 1, "bytes": 1, "tf32": 0,
        "launches": 1, "row_waste": 0, "column_waste": 0, **changes,
    })  # fmt: skip


CONSTANTS = {**GPU.constants, "peak_16": 1e14, "hide": 8.0, "step": 1e-12, "launch": 1e-6}


def gpu(**changes: float) -> float:
    constants = numbers(**CONSTANTS)
    return float(GPU.seconds(one_block(**changes), constants))


def test_arithmetic_takes_flops_over_peak_and_a_launch() -> None:
    """With 8 warps at work and 8 needed to hide latency, half of the peak is reached."""
    assert gpu() == pytest.approx(1e12 / (1e14 / 2) + 1e-6, rel=1e-4)


def test_work_of_tiles_beyond_the_edge_takes_time() -> None:
    assert gpu(row_waste=0.5) == pytest.approx(2 * gpu(), rel=1e-3)


def test_half_a_wave_more_takes_a_whole_one() -> None:
    half = gpu(waves=1.5, flops=1.5e12) - 1e-6
    assert half == pytest.approx(gpu(waves=2, flops=2e12) - 1e-6, rel=1e-3)


def test_more_warps_hide_more_up_to_what_registers_hold() -> None:
    assert gpu(blocks_by_shared=2) < gpu()
    assert gpu(blocks_by_shared=64) == gpu(blocks_by_shared=128)


def test_the_larger_of_arithmetic_and_traffic_counts() -> None:
    assert gpu(traffic=1e9) == gpu()
    assert gpu(traffic=1e13) == pytest.approx(1e13 / (1e13 / 2) + 1e-6, rel=1e-3)
    assert gpu(bytes=1e13) == pytest.approx(1e13 / (3e12 / 2) + 1e-6, rel=1e-3)


def test_rows_are_not_multiplied_by_tensor_cores() -> None:
    assert gpu(depth=0, block_k=0, split_k=0) == pytest.approx(1e12 / (1e13 / 2), rel=1e-3)


@pytest.mark.parametrize(
    ("roofline", "data", "constants"),
    [
        (GPU, triton_set(), OTHER),
        (CPU, store_set(), {**CPU.constants, "peak": 1e9, "far": 5e9}),
    ],
    ids=["triton", "per_store"],
)
def test_the_constants_of_a_machine_are_found_again(
    roofline: RooflineFormula, data: LearningSet, constants: dict[str, float]
) -> None:
    data = with_costs(roofline, data, constants)
    model = Analytical()
    model.fit(data)
    off = np.abs(np.log(model.seconds(data) / data.programs.costs))
    assert np.median(off) < 0.1
    assert best_over_picked(data.programs, model.predict(data)).min() > 0.8


@pytest.mark.parametrize("data", [triton_set(), store_set()], ids=["triton", "per_store"])
def test_rooflines_pass_the_kit(data: LearningSet) -> None:
    roofline = GPU if data.is_tabular else CPU
    check_cost_model(Analytical, data=with_costs(roofline, data, dict(roofline.constants)))


def test_rows_of_primitives_take_no_time() -> None:
    stores = store_set()
    rows = np.concatenate([np.zeros((1, 164), np.float32), stores.rows])
    starts = np.concatenate([[0], stores.starts[1:] + 1])
    more = replace(stores, rows=rows, starts=starts)
    seconds: list[Floats] = []
    for data in (stores, more):
        model = Analytical()
        model.domain = Domain.of(data)
        model.fitted = FittedRoofline("CPU programs", dict(CPU.constants))
        seconds.append(model.seconds(data))
    np.testing.assert_allclose(seconds[0], seconds[1])


def test_features_without_a_roofline_are_refused() -> None:
    with pytest.raises(LearnError, match=r"Triton programs lack .* read them as triton or per_st"):
        create_model("analytical").fit(easy_set())


@pytest.mark.parametrize(
    "text",
    [
        '{"roofline": "magic", "constants": {}}',
        '{"roofline": "CPU programs", "constants": {"peak": 1.0}}',
        '{"roofline": "CPU programs", "constants": {"peak": -1.0}}',
    ],
)
def test_constants_of_something_else_are_refused(tmp_path: Path, text: str) -> None:
    model = create_model("analytical")
    model.fit(with_costs(CPU, store_set(), dict(CPU.constants)))
    save_model(model, tmp_path / "model")
    (tmp_path / "model/constants.json").write_text(text)
    with pytest.raises(LearnError, match=r"roofline|constants"):
        load_model(tmp_path / "model")
