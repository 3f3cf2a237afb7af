"""Models read from a README: settings as written, nothing executed."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from torch import nn

from graph_net.capture.zoo.vit_pytorch import examples


class Tower(nn.Module):
    """A model with settings."""

    def __init__(self, image_size: int, depth: int = 1) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Identity() for _ in range(depth))


class Masked(nn.Module):
    """A model around another."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of two models where vit-pytorch would be."""
    package, module = ModuleType("vit_pytorch"), ModuleType("vit_pytorch.towers")
    for maker in (Tower, Masked):
        monkeypatch.setattr(maker, "__module__", "vit_pytorch.towers")
        setattr(module, maker.__name__, maker)
    monkeypatch.setitem(sys.modules, "vit_pytorch", package)
    monkeypatch.setitem(sys.modules, "vit_pytorch.towers", module)


def readme(*blocks: str) -> str:
    """Code blocks between words."""
    return "\n".join(f"words\n```python\n{block}\n```" for block in blocks)


IMPORT = "from vit_pytorch.towers import Tower, Masked\n"


def test_a_model_has_the_settings_and_the_input_of_its_example() -> None:
    code = "v = Tower(image_size = 64, depth = 3)\nimg = torch.randn(4, 3, 64, 64)\nv(img)"
    found = examples(readme(IMPORT + code))
    assert found["towers.Tower"].settings == {"image_size": 64, "depth": 3}
    assert found["towers.Tower"].shape == (4, 3, 64, 64)


def test_a_model_around_another_is_built_with_it() -> None:
    code = "v = Tower(image_size = 64, depth = 2)\nm = Masked(encoder = v)\nx = torch.randn(1, 2)"
    model = examples(readme(IMPORT + code))["towers.Masked"].build()
    assert isinstance(model.encoder, Tower)
    assert len(model.encoder.layers) == 2


def test_an_example_with_a_call_says_more_than_one_without() -> None:
    shown = "v = Tower(image_size = 32)"
    called = "v = Tower(image_size = 64)\nimg = torch.randn(1, 3, 64, 64)"
    again = "v = Tower(image_size = 96)\nimg = torch.randn(1, 3, 96, 96)"
    found = examples(readme(IMPORT + shown, called, again))
    assert found["towers.Tower"].settings == {"image_size": 64}


def test_an_image_of_the_stated_size_stands_in_for_a_call_that_is_not_shown() -> None:
    found = examples(readme(IMPORT + "v = Tower(image_size = 32)"))
    assert found["towers.Tower"].shape == (1, 3, 32, 32)


def test_a_readme_is_never_executed() -> None:
    code = "v = Tower(image_size = print('seen') or 64)\nimg = torch.randn(1, 3, 64, 64)"
    assert examples(readme(IMPORT + code + "\nraise SystemExit")) == {}
