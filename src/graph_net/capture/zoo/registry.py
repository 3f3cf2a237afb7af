"""Find zoos: those that come with the package, and others through entry points."""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec

import torch

from graph_net.capture.zoo.zoo import Zoo

GROUP = "graph_net.zoos"
BUILT_IN = {
    "torchvision": ("torchvision", "graph_net.capture.zoo.torchvision:TorchvisionZoo"),
    "timm": ("timm", "graph_net.capture.zoo.timm:TimmZoo"),
    "transformers": ("transformers", "graph_net.capture.zoo.transformers:TransformersZoo"),
    "diffusers": ("diffusers", "graph_net.capture.zoo.diffusers:DiffusersZoo"),
    "segmentation_models_pytorch": (
        "segmentation-models-pytorch",
        "graph_net.capture.zoo.smp:SegmentationModelsZoo",
    ),
    "open_clip": ("open_clip_torch", "graph_net.capture.zoo.open_clip:OpenClipZoo"),
    "monai": ("monai", "graph_net.capture.zoo.monai:MonaiZoo"),
    "torch_geometric": ("torch-geometric", "graph_net.capture.zoo.torch_geometric:GeometricZoo"),
    "pytorchcv": ("pytorchcv", "graph_net.capture.zoo.pytorchcv:PytorchcvZoo"),
    "vit_pytorch": ("vit-pytorch", "graph_net.capture.zoo.vit_pytorch:VitPytorchZoo"),
}
ON_REQUEST = {
    "transformers_small": (
        "transformers",
        "graph_net.capture.zoo.transformers:SmallTransformersZoo",
    ),
    "tenset": ("torchvision", "graph_net.capture.zoo.tenset:TensetZoo"),
}
"""Zoos that are only collected when named; each with the library it needs."""

_NMS = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


class ZooError(ValueError):
    """A zoo is unknown, or its library is not installed."""


def available() -> dict[str, bool]:
    """Return every zoo that is collected by default, and whether its library is installed."""
    built_in = {name: find_spec(name) is not None for name in BUILT_IN}
    return built_in | {point.name: True for point in entry_points(group=GROUP)}


def load(name: str) -> Zoo:
    """Return the zoo with this name; raise ZooError if it is unknown or cannot be imported."""
    for point in entry_points(group=GROUP):
        if point.name == name:
            plugin: Zoo = point.load()()
            return plugin
    if name not in BUILT_IN and name not in ON_REQUEST:
        names = ", ".join([*available(), *ON_REQUEST])
        raise ZooError(f"unknown zoo {name!r}; known: {names}")
    package, path = BUILT_IN.get(name) or ON_REQUEST[name]
    if find_spec(name if name in BUILT_IN else package) is None:
        raise ZooError(f"the zoo {name!r} needs its library: pip install {package}")
    _declare_torchvision_operators()
    module, _, attribute = path.partition(":")
    built_in: Zoo = getattr(importlib.import_module(module), attribute)()
    return built_in


@cache
def _declare_torchvision_operators() -> torch.library.Library | None:
    """Declare the two operators that torchvision's CUDA build misses beside a CPU build of torch.

    torchvision, timm and transformers do not import without them. The cache keeps the library
    alive; if the operators exist nothing is done.
    """
    try:
        torch.ops.torchvision.nms.default  # noqa: B018 - raises if absent
        return None
    except AttributeError:
        library = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
        for name in ("nms", "qnms"):
            library.define(f"{name}{_NMS}")  # type: ignore[no-untyped-call]
        return library
