"""torchvision: classification, segmentation, detection, video and optical flow."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from graph_net.capture.zoo.zoo import Call, ZooEntry

_KINDS = {
    "detection": "detection",
    "segmentation": "segmentation",
    "video": "video classification",
    "optical_flow": "optical flow",
    "quantization": "",
}


class TorchvisionZoo:
    """Every model torchvision registers, except the quantised ones."""

    library = "torchvision"

    def entries(self) -> Iterator[ZooEntry]:
        from torchvision import models

        for name in models.list_models():
            builder = models.get_model_builder(name)
            folder = builder.__module__.split(".")[2]
            kind = _KINDS.get(folder, "classification")
            if kind:
                yield ZooEntry(self.library, name, "computer_vision", kind, (folder,))

    def build(self, entry: ZooEntry) -> Call:
        from torchvision import models

        backbone = {"weights_backbone": None} if entry.subcategory in _HEADED else {}
        model = models.get_model(entry.name, weights=None, **backbone).eval()
        if entry.subcategory == "video classification":
            side = 224 if entry.name in _LARGE_VIDEO else 112
            return Call(model, (torch.zeros(1, 3, 16, side, side),))
        if entry.subcategory == "optical flow":
            pair = torch.zeros(1, 3, 256, 256)
            return Call(model, (pair, pair.clone()))
        if entry.subcategory == "detection":
            return Call(model, ([torch.zeros(3, 320, 320)],))
        weights = models.get_model_weights(entry.name)
        return Call(model, (torch.zeros(1, 3, *_side(weights)),))


_HEADED = frozenset({"detection", "segmentation"})
_LARGE_VIDEO = ("mvit_v1_b", "mvit_v2_s", "s3d", "swin3d_t", "swin3d_s", "swin3d_b")


def _side(weights: object) -> tuple[int, int]:
    """Return the image size that the published weights were evaluated at."""
    for weight in weights:  # type: ignore[attr-defined]
        crop = getattr(weight.transforms(), "crop_size", None)
        if crop:
            return int(crop[0]), int(crop[0])
    return 224, 224
