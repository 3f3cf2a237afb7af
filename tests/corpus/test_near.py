"""Names near one that is not there."""

from __future__ import annotations

from graph_net.corpus.suggest import near_names, suggest

NAMES = ["timm/resnet18", "monai/resnet18", "torchvision/alexnet", "torchvision/resnet50"]


def test_the_same_model_of_another_library_comes_first() -> None:
    found = near_names("torchvision/resnet18", NAMES)
    assert found[:2] == ["timm/resnet18", "monai/resnet18"]
    assert "torchvision/resnet50" in found


def test_a_slip_of_the_pen_is_found() -> None:
    assert near_names("torchvision/alexnt", NAMES)[0] == "torchvision/alexnet"


def test_where_nothing_is_near_some_names_are_told() -> None:
    assert near_names("zzzz", NAMES) == []
    assert suggest("zzzz", NAMES) == "it has timm/resnet18, monai/resnet18, torchvision/alexnet …"
