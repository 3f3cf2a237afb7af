"""Outputs that run code when they are read are told from those that do not."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import pytest
import torch

from graph_net.measure.plain_outputs import Deferred, plain_outputs

Pair = namedtuple("Pair", "first second")


class Mine(list[Any]):
    def __iter__(self) -> Any:
        return iter([1])


class Table(dict[str, Any]):
    def values(self) -> Any:
        return [1]


class Own(torch.Tensor):
    pass


def test_what_frameworks_return_is_plain() -> None:
    one = torch.ones(2)
    nested = [Pair(one, 2), {"a": one}, OrderedDict(b=one), torch.sort(one), None]
    assert len(plain_outputs(nested)) == 7
    assert plain_outputs(torch.nn.Parameter(one))[0].shape == (2,)


@pytest.mark.parametrize(
    "output", [Mine([1]), Table(a=1), torch.ones(2).as_subclass(Own), torch.ones(2, device="meta")]
)
def test_what_may_compute_when_it_is_read_is_refused(output: Any) -> None:
    with pytest.raises(Deferred, match="computed only when it is looked at"):
        plain_outputs((output,))
