"""Triton's kernels compute what torch computes, for programs drawn from their spaces.

They run on a stand-in for Triton; on a GPU the collector checks every program in the same way.
"""

import json
import sys
from collections.abc import Iterator

import pytest
import torch

from graph_net.programs.triton import H200, TritonSpace, workload_of
from graph_net.programs.triton.compiling import MODULES, kernel_of
from graph_net.programs.triton.layers import Module, along, batched, conv, linear
from graph_net.programs.triton.workload_data import WorkloadData, WrongAnswer
from programs.triton.triton_stand_in import modules

WORKLOADS: dict[str, Module] = {
    "matmul": linear(33, 50, 130, "tf32", "bias_add_relu"),
    "matmul, even": linear(64, 32, 128, "float16", "bias_gelu"),
    "matmul, silu": linear(17, 40, 70, "float16", "silu"),
    "batched, keys": batched(3, 20, 24, 40, "float16", True),
    "batched, values": batched(2, 20, 40, 24, "bfloat16", False),
    "convolution": conv(2, 9, 20, 24, 3, "float16", "bias_relu6", 2),
    "convolution, added": conv(1, 7, 33, 16, 3, "float16", "bias_add_relu"),
    "convolution, patches": conv(2, 16, 3, 20, 4, "float16", "bias", 4),
    "softmax": along("softmax", 10, 700, "float32"),
    "layer norm": along("layer_norm", 9, 300, "float16"),
    "RMS norm": along("rms_norm", 6, 257, "bfloat16"),
    "row sum": along("row_sum", 11, 900, "float16"),
}
EACH = 24


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", WORKLOADS)
def test_programs_give_what_torch_gives(name: str) -> None:
    space = TritonSpace(workload_of(WORKLOADS[name]), H200.text)
    data = WorkloadData(space.family, "cpu")
    schedules = list(space.sample(EACH, 0))
    assert len(schedules) == EACH
    for schedule in schedules:
        data.prepare(space.config(schedule))  # raises where a number is off


@pytest.mark.parametrize(
    ("name", "parameter"),
    [("matmul", "split_k"), ("convolution", "split_k"), ("row sum", "split_columns")],
)
def test_split_sums_are_added_up(name: str, parameter: str) -> None:
    space = TritonSpace(workload_of(WORKLOADS[name]), H200.text)
    found = (json.loads(schedule) for schedule in space.sample(400, 1))
    split = next(config for config in found if config[parameter] > 1)
    data = WorkloadData(space.family, "cpu")
    data.prepare(split)
    assert len(space.family.launches(split)) == 2
    assert not bool(torch.isnan(data.tensors["out"]).any())


def test_a_kernel_that_forgets_its_epilogue_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    space = TritonSpace(workload_of(WORKLOADS["matmul"]), H200.text)
    data = WorkloadData(space.family, "cpu")
    (schedule,) = space.sample(1, 0)
    kernels = sys.modules[kernel_of("matmul").function.__module__]
    monkeypatch.setattr(kernels, "finished", lambda sums, *_: sums)
    with pytest.raises(WrongAnswer, match="numbers are off"):
        data.prepare(space.config(schedule))
