"""Kernels that take a tensor to be dense, or a view to be inside its storage, are not shown others.

Each call here read or wrote memory outside its tensors.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from graph_net.graph.errors import RefusedCall
from graph_net.graph.guard import guarded_call
from graph_net.graph.kernel_layouts import overlaps


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype)


def shared(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """One element in the place of many."""
    return torch.ones((1,) * len(shape), dtype=dtype).expand(shape)


BAG = "aten._embedding_bag.default"
POOL = "aten.adaptive_max_pool3d_backward.default"
ATTENTION = "aten._scaled_dot_product_flash_attention_for_cpu.default"
HEADS = ones(1, 1, 4, 4)
SHARING: dict[str, tuple[str, tuple[Any, ...]]] = {
    "written": ("aten.rrelu_with_noise.default", (ones(4), shared(4), 0.1, 0.3, True)),
    "group norm": ("aten.native_group_norm.default", (ones(1, 4, 2), shared(4), None, 1, 4, 2, 2,
                                                      1e-5)),
    "group norm's gradient": (
        "aten.native_group_norm_backward.default",
        (shared(1, 4, 2), ones(1, 4, 2), ones(1, 2), ones(1, 2), ones(4), 1, 4, 2, 2, [True] * 3),
    ),
    "layer norm's gradient": (
        "aten.native_layer_norm_backward.default",
        (ones(4, 8), ones(4, 8), [8], shared(4, 1), ones(4, 1), None, None, [True] * 3),
    ),
    "weight norm": ("aten._weight_norm_interface.default", (shared(4, 4), ones(4, 1), 0)),
    "bag offsets": (BAG, (ones(3, 2), torch.tensor([1, 1]), torch.tensor([0]).expand(2))),
    "pooling's indices": (POOL, (ones(1, 2, 2, 2), ones(1, 2, 2, 2),
                                 shared(1, 2, 2, 2, dtype=torch.int64))),
    "attention": (ATTENTION, (HEADS, ones(1, 1, 4, 1).expand(1, 1, 4, 4), HEADS)),
    "median": ("aten.median.dim", (shared(4), 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARING)
def test_a_tensor_whose_elements_share_memory_is_refused_where_the_kernel_walks_past_it(
    name: str,
) -> None:
    target, args = SHARING[name]
    with pytest.raises(RefusedCall, match=r"share memory|expanded"):
        guarded_call(target, args, {})


@pytest.mark.parametrize(
    ("sizes", "strides"), [([100], [1]), ([2, 2], [50, 1]), ([4], [-1]), ([2, 2], [1])]
)
def test_an_alias_stays_inside_its_storage(sizes: list[int], strides: list[int]) -> None:
    with pytest.raises(RefusedCall, match="an alias of sizes"):
        guarded_call("aten._reshape_alias.default", (ones(4), sizes, strides), {})
    tail = ones(8)[6:]
    with pytest.raises(RefusedCall, match="an alias of sizes"):
        guarded_call("aten._reshape_alias.default", (tail, [2], [2]), {})


def test_an_alias_of_the_same_elements_is_made() -> None:
    found = guarded_call("aten._reshape_alias.default", (ones(2, 3), [3, 2], [2, 1]), {})
    assert found.shape == (3, 2)


def test_a_result_is_not_written_over_an_expanded_tensor() -> None:
    with pytest.raises(RefusedCall, match="out with elements that share memory"):
        guarded_call("torch.matmul", (ones(2, 2), ones(2, 2)), {"out": shared(2, 2)})


def test_expanded_tensors_are_read_by_kernels_that_follow_strides() -> None:
    keys = ones(1, 1, 4, 4).expand(1, 3, 4, 4)
    found = guarded_call(ATTENTION, (ones(1, 3, 4, 4), keys, keys), {})
    assert found[0].shape == (1, 3, 4, 4)
    assert guarded_call("aten.add.Tensor", (shared(3, 3), shared(3, 3)), {}).sum() == 18
    assert guarded_call("method:unsqueeze_", (shared(3), 0), {}).shape == (1, 3)
    assert guarded_call("method:zero_", (ones(4, 4)[:, ::2],), {}).sum() == 0


def test_overlap_is_told_from_gaps() -> None:
    assert overlaps(shared(2, 3))
    assert overlaps(ones(4).as_strided((3, 2), (1, 1)))
    assert not overlaps(ones(4, 4)[::2, ::2])
    assert not overlaps(ones(3, 4).t())
    assert not overlaps(ones(0, 4))
