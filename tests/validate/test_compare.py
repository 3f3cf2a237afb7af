"""How far outputs are apart."""

from __future__ import annotations

import torch

from graph_net.validate.compare import largest_difference


def test_equal_outputs_have_no_difference() -> None:
    nest = [torch.tensor([1.0, float("nan"), float("inf")]), (3, None)]
    assert largest_difference(nest, nest) == (0.0, "")


def test_it_is_in_parts_of_the_largest_value() -> None:
    part, wrong = largest_difference([torch.tensor([100.0, 1.0])], [torch.tensor([100.0, 2.0])])
    assert abs(part - 0.01) < 1e-9
    assert "output 0 differs by 1.0e-02" in wrong
    assert largest_difference([torch.tensor([1.0])], [torch.tensor([1.0 + 1e-6])])[1] == ""


def test_what_cannot_be_close_must_be_equal() -> None:
    assert "1 of 2" in largest_difference([torch.tensor([1, 2])], [torch.tensor([1, 3])])[1]
    assert "NaN" in largest_difference([torch.tensor([1.0])], [torch.tensor([float("nan")])])[1]
    assert "instead of" in largest_difference([torch.ones(2)], [torch.ones(3)])[1]
    assert largest_difference([1, 2], [1]) == (0.0, "1 output instead of 2")
    assert largest_difference([1], [1, 2]) == (0.0, "2 outputs instead of 1")
    assert "instead of" in largest_difference([torch.ones(2)], [torch.ones(2).double()])[1]
    assert "2 outputs" in largest_difference([1], [1, 2])[1]
    assert "instead of" in largest_difference([1], [2])[1]
