"""pytorchcv: every model its provider names, at the input size the model itself states.

Shapes of inputs other than one image are those of the library's own tests (``_test`` at the end of
each of its files), at batch 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from graph_net.capture.zoo.zoo import Call, ZooEntry

_KINDS = {
    "segmentation": """
        bisenet cgnet contextnet dabnet danet deeplabv3 edanet enet erfnet esnet espcnet fastscnn
        fcn8sd fpenet icnet lednet linknet pspnet segnet sinet sqnet unet
        """,
    "detection": "centernet lffd",
    "pose estimation": """
        alphapose_coco ibppose_coco lwopenpose_cmupan simplepose_coco simpleposemobile_coco
        """,
    "face reconstruction": "pfpcnet prnet",
    "optical flow": "raft",
    "video inpainting": "propainter_ip",
    "speech recognition": "jasper jasperdr quartznet",
    "facial animation": "nvpattexp visemenet voca",
}
"""The files of each kind of model; those of all other files are classifiers."""
_KIND_OF = {module: kind for kind, modules in _KINDS.items() for module in modules.split()}
_AUDIO = frozenset({"speech recognition", "facial animation"})
_ABSENT = frozenset({"ntsnet_cub", "superpointnet", "propainter", "propainter_rfc"})
"""Files whose models have no graph: they suppress boxes or points in Python, or need compiled
operators of torchvision."""
_HEATMAPS = frozenset({"alphapose_coco", "simplepose_coco", "simpleposemobile_coco"})
"""Files whose models decode the pose from their heatmap in Python by default."""
_GREY = frozenset({"pfpcnet"})
_FRAMES, _FRAME = 5, (240, 432)
_STEPS, _WINDOWS = 200, 34


class PytorchcvZoo:
    """Every model of pytorchcv's provider that is one graph."""

    library = "pytorchcv"

    def entries(self) -> Iterator[ZooEntry]:
        from pytorchcv.model_provider import _models

        for name, maker in _models.items():
            module = maker.__module__.rpartition(".")[2]
            kind = _KIND_OF.get(module, "classification")
            category = "audio" if kind in _AUDIO else "computer_vision"
            if module not in _ABSENT:
                yield ZooEntry(self.library, name, category, kind, (module,))

    def build(self, entry: ZooEntry) -> Call:
        from pytorchcv.model_provider import get_model

        (module,) = entry.tags
        options = {"return_heatmap": True} if module in _HEATMAPS else {}
        if entry.subcategory == "speech recognition":
            options = {"from_audio": False}  # the spectrogram would need librosa
        model = get_model(entry.name, pretrained=False, **options).eval()
        args = _args(module, entry.subcategory)
        if args is None:
            channels = 1 if module in _GREY else 3
            side = getattr(model, "in_size", (224, 224))
            args = (torch.zeros(1, channels, *side, device="cpu"),)
        return Call(model, args)


def _args(module: str, kind: str) -> tuple[Any, ...] | None:
    """Return the arguments of a model whose input is not one image, else None."""
    if kind == "speech recognition":
        return torch.zeros(1, 64, _STEPS), torch.tensor([_STEPS])
    if kind == "optical flow":
        return torch.zeros(1, 3, *_FRAME), torch.zeros(1, 3, *_FRAME)
    if kind == "video inpainting":
        return _film(3), _film(1), _film(4, _FRAMES - 1)
    if module == "visemenet":  # one batch is one sound in windows
        return torch.zeros(_WINDOWS, 8, 195), torch.full((_WINDOWS, 76), 3.0)
    windows = {"voca": 1, "nvpattexp": 8}
    if module in windows:
        return torch.zeros(1, windows[module], 16, 29), torch.full((1,), 3)
    return None


def _film(channels: int, frames: int = _FRAMES) -> torch.Tensor:
    """Return frames of zeros; their number takes the place of the batch."""
    return torch.zeros(frames, channels, *_FRAME)
