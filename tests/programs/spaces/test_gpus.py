"""The table of GPUs: found by name, with limits that fit together."""

from __future__ import annotations

import pytest

from graph_net.programs.spaces import SpaceError
from graph_net.programs.spaces.gpus import find_gpu, gpu_names


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("k80", "K80"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("NVIDIA A100-SXM4-40GB", "A100"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA GeForce RTX 3080 Ti", "RTX 3080 Ti"),
    ],
)
def test_a_gpu_is_found_by_the_name_of_its_device(asked: str, name: str) -> None:
    assert find_gpu(asked).name == name


def test_an_unknown_gpu_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(SpaceError, match="known: K80"):
        find_gpu("abacus")


@pytest.mark.parametrize(
    ("name", "teraflops"),
    [("K80", 4.37), ("V100", 15.7), ("T4", 8.1), ("A100", 19.5), ("H100", 67)],
)
def test_peaks_are_those_of_the_vendor(name: str, teraflops: float) -> None:
    assert find_gpu(name).flops / 1e12 == pytest.approx(teraflops, rel=0.02)


@pytest.mark.parametrize("name", gpu_names())
def test_every_gpu_has_limits_and_a_source(name: str) -> None:
    gpu = find_gpu(name)
    assert gpu.name == name
    assert gpu.source
    assert gpu.threads % gpu.warp == 0
    assert gpu.sms * gpu.lanes * gpu.clock * gpu.bandwidth * gpu.l2 * gpu.blocks > 0
    assert 2**15 < gpu.shared < 2**20
    assert gpu.registers in (65536, 131072)
