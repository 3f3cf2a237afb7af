"""torchvision: classification, segmentation, detection, video and optical flow."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from graph_net.capture.zoo.compat import torchvision_operators
from graph_net.capture.zoo.zoo import Call, ZooEntry

_KINDS = {
    "detection": "detection",
    "segmentation": "segmentation",
    "video": "video classification",
    "optical_flow": "optical flow",
    "quantization": "",
}


class TorchvisionZoo:
    """Every model torchvision registers, the quantised ones left out."""

    library = "torchvision"

    def __init__(self) -> None:
        torchvision_operators()

    def entries(self) -> Iterator[ZooEntry]:
        from torchvision import models

        for name in models.list_models():
            builder = models.get_model_builder(name)
            place = builder.__module__.split(".")[2]
            kind = _KINDS.get(place, "classification")
            if kind:
                yield ZooEntry(self.library, name, "computer_vision", kind, (place,))

    def build(self, entry: ZooEntry) -> Call:
        from torchvision import models

        backbone = {"weights_backbone": None} if entry.subcategory in _HEADED else {}
        model = models.get_model(entry.name, weights=None, **backbone).eval()
        if entry.subcategory == "video classification":
            frames, side = _VIDEO.get(entry.name, (16, 112))
            return Call(model, (torch.zeros(1, 3, frames, side, side),))
        if entry.subcategory == "optical flow":
            pair = torch.zeros(1, 3, 256, 256)
            return Call(model, (pair, pair.clone()))
        if entry.subcategory == "detection":
            return Call(model, ([torch.zeros(3, 320, 320)],))
        weights = models.get_model_weights(entry.name)
        return Call(model, (torch.zeros(1, 3, *_side(weights)),))


_HEADED = frozenset({"detection", "segmentation"})
_VIDEO = {
    "mvit_v1_b": (16, 224),
    "mvit_v2_s": (16, 224),
    "s3d": (16, 224),
    "swin3d_t": (16, 224),
    "swin3d_s": (16, 224),
    "swin3d_b": (16, 224),
}


def _side(weights: object) -> tuple[int, int]:
    """The image size the published weights were evaluated at."""
    for weight in weights:  # type: ignore[attr-defined]
        crop = getattr(weight.transforms(), "crop_size", None)
        if crop:
            return int(crop[0]), int(crop[0])
    return 224, 224
