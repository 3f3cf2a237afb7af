"""Orders of dimensions and strides say the same."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from graph_net.configs.layouts.orders import (
    channels_last_order,
    contiguous_order,
    has_order,
    inverse,
    order_of,
    strides_of,
    transposed_order,
)

sizes = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@given(st.data())
def test_a_dense_tensor_has_the_order_that_its_strides_were_made_of(data: st.DataObject) -> None:
    shape = data.draw(sizes)
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    strides = strides_of(order, shape)
    assert has_order(order, shape, strides)
    assert has_order(order_of(shape, strides), shape, strides)
    assert torch.empty_strided(shape, strides).numel() == torch.empty(shape).numel()


def test_the_named_orders_are_torchs() -> None:
    images = torch.empty(2, 3, 4, 5)
    last = images.contiguous(memory_format=torch.channels_last)
    assert has_order(contiguous_order(4), images.shape, images.stride())
    assert has_order(channels_last_order(4), last.shape, last.stride())
    assert not has_order(channels_last_order(4), images.shape, images.stride())
    matrix = torch.empty(4, 7, 3).transpose(1, 2)
    assert has_order(transposed_order(3), matrix.shape, matrix.stride())


@given(st.permutations(range(5)))
def test_an_inverse_permutation_undoes_the_first(order: list[int]) -> None:
    tensor = torch.empty(2, 3, 4, 5, 6)
    assert tensor.permute(order).permute(inverse(order)).stride() == tensor.stride()
