"""Models built without weights: what they look at while they are built is there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from graph_net.capture.capture import capture
from graph_net.capture.weights import without_weights


class Tabled(nn.Module):
    """Computes a table on the device of a parameter, as position embeddings do."""

    def __init__(self, make: Callable[..., Tensor]) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("table", torch.empty(4))
        self.table: Tensor
        self.table.copy_(make(device=self.scale.device))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale + self.table


@pytest.mark.parametrize(
    "make",
    [
        lambda device: torch.arange(4.0, device=device),
        lambda device: torch.linspace(0, 3, 4, device=device),
        lambda device: torch.tensor([0.0, 1, 2, 3], device=device),
        lambda device: torch.ones(4, device=device).cumsum(0) - 1,
        lambda device: torch.full((4,), 1.0, device=device).cumsum(0) - 1,
    ],
    ids=["arange", "linspace", "tensor", "ones", "full"],
)
def test_a_table_made_on_the_device_of_a_parameter_has_its_values(
    make: Callable[..., Tensor],
) -> None:
    with without_weights():
        model = Tabled(make)
    assert model.table.tolist() == [0, 1, 2, 3]
    assert model.scale.device.type == "meta"


class Measuring(nn.Module):
    """Runs its backbone while it is built, to learn how large its features are."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU(True))
        self.backbone.eval()
        with torch.no_grad():
            features = self.backbone(torch.zeros(1, 3, 15, 15))
        self.head = nn.Linear(features.flatten(1).shape[1], 2)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.head(self.backbone(x).flatten(1))
        return y


def test_a_model_may_run_itself_while_it_is_built() -> None:
    with without_weights():
        model = Measuring().eval()
    assert model.head.in_features == 8 * 7 * 7
    assert all(parameter.device.type == "meta" for parameter in model.parameters())
    assert model.get_buffer("backbone.1.running_var").tolist() == [1] * 8
    assert len(capture(model, (torch.zeros(1, 3, 15, 15),)).graphs) == 1


class Lost(nn.Module):
    """Keeps a value that depends on a weight: without weights there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("kept", torch.empty(4))
        self.kept: Tensor
        self.kept.copy_(self.scale.detach() * 2)


def test_a_buffer_is_never_left_unwritten_in_silence() -> None:
    with pytest.raises(NotImplementedError, match="meta"), without_weights():
        Lost()
