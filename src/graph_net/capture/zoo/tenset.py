"""TenSet's 120 networks: fourteen architectures, each at up to nine input shapes.

The set is about sizes, so it is not part of the corpus, where a model counts once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.zoo import Call, ZooEntry

_IMAGES = {
    "resnet18": "resnet18",
    "resnet50": "resnet50",
    "mobilenet_v2": "mobilenet_v2",
    "mobilenet_v3": "mobilenet_v3_large",
    "wide_resnet50": "wide_resnet50_2",
    "resnext50": "resnext50_32x4d",
    "inception_v3": "inception_v3",
    "densenet121": "densenet121",
    "r3d_18": "r3d_18",
}
_BERTS = {
    "bert_tiny": (2, 128),
    "bert_medium": (8, 512),
    "bert_base": (12, 768),
    "bert_large": (24, 1024),
}
"""Layers and width, as published; a head is 64 wide."""
_SIZES = {
    "r3d_18": (112, 128, 144),
    "dcgan": (64, 80, 96),
    **dict.fromkeys(_BERTS, (64, 128, 256)),
}
_FRAMES = 16
HELD_OUT = (
    "resnet50-1x224",
    "mobilenet_v2-1x224",
    "resnext50-1x224",
    "bert_tiny-1x128",
    "bert_base-1x128",
)
"""Networks whose tasks no model is trained on."""


class TensetZoo:
    """Networks named after architecture, batch and size: ``resnet50-1x224``."""

    library = "tenset"

    def entries(self) -> Iterator[ZooEntry]:
        """Yield the networks; the size is an image's side or a sequence's length."""
        for name in _IMAGES:
            kind = "video classification" if name == "r3d_18" else "classification"
            for batch, size in _shapes(name):
                yield ZooEntry(self.library, f"{name}-{batch}x{size}", "computer_vision", kind)
        for name in _BERTS:
            for batch, size in _shapes(name):
                yield ZooEntry(self.library, f"{name}-{batch}x{size}", "nlp", "encoder")
        for batch, size in _shapes("dcgan"):
            yield ZooEntry(self.library, f"dcgan-{batch}x{size}", "computer_vision", "generation")

    def build(self, entry: ZooEntry) -> Call:
        name, _, shape = entry.name.partition("-")
        batch, size = (int(number) for number in shape.split("x"))
        if name in _BERTS:
            return Call(_bert(*_BERTS[name]), (torch.zeros(batch, size, dtype=torch.int64),))
        if name == "dcgan":
            return Call(Dcgan(size).eval(), (torch.zeros(batch, 100),))
        return Call(_image_model(_IMAGES[name]), (_images(name, batch, size),))


def _shapes(name: str) -> list[tuple[int, int]]:
    if name == "inception_v3":
        return [(batch, 299) for batch in (1, 2, 4)]
    batches = (1, 2, 4) if name in (*_BERTS, "densenet121", "r3d_18") else (1, 4, 8)
    return [(batch, size) for batch in batches for size in _SIZES.get(name, (224, 240, 256))]


def _images(name: str, batch: int, size: int) -> torch.Tensor:
    return torch.zeros(batch, 3, *((_FRAMES,) if name == "r3d_18" else ()), size, size)


def _image_model(name: str) -> nn.Module:
    from torchvision import models

    settings: dict[str, Any] = {"init_weights": False} if name == "inception_v3" else {}
    model: nn.Module = models.get_model(name, weights=None, **settings)
    return model.eval()


def _bert(layers: int, width: int) -> nn.Module:
    from transformers import BertConfig, BertModel

    settings = BertConfig(
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
        return_dict=False,
    )
    model: nn.Module = BertModel(settings).eval()
    return model


class Dcgan(nn.Module):
    """DCGAN's generator: four transposed convolutions turn a vector into an image."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.side = size // 16
        self.project = nn.Linear(100, 1024 * self.side**2)
        layers: list[nn.Module] = [nn.BatchNorm2d(1024), nn.ReLU()]
        for inner, outer in ((1024, 512), (512, 256), (256, 128)):
            up = nn.ConvTranspose2d(inner, outer, 4, stride=2, padding=1, bias=False)
            layers += [up, nn.BatchNorm2d(outer), nn.ReLU()]
        layers += [nn.ConvTranspose2d(128, 3, 4, stride=2, padding=1, bias=False), nn.Tanh()]
        self.layers = nn.Sequential(*layers)

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        """Return images of ``size`` by ``size``."""
        projected = self.project(noise).view(-1, 1024, self.side, self.side)
        images: torch.Tensor = self.layers(projected)
        return images
