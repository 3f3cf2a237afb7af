"""Finds zoos: those that come with the package, and others through entry points."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from importlib.util import find_spec

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
"""Zoos that are loaded by name and never collected unasked; each with the library it needs."""


class ZooError(ValueError):
    """A zoo is unknown, or its library is not installed."""


def available() -> dict[str, bool]:
    """Every zoo that is collected by default, and whether its library is installed."""
    found = {name: find_spec(name) is not None for name in BUILT_IN}
    return found | {point.name: True for point in entry_points(group=GROUP)}


def load(name: str) -> Zoo:
    """The zoo with this name."""
    for point in entry_points(group=GROUP):
        if point.name == name:
            plugged: Zoo = point.load()()
            return plugged
    if name not in BUILT_IN and name not in ON_REQUEST:
        known = ", ".join([*available(), *ON_REQUEST])
        raise ZooError(f"unknown zoo {name!r}; known: {known}")
    package, path = BUILT_IN.get(name) or ON_REQUEST[name]
    if find_spec(name if name in BUILT_IN else package) is None:
        raise ZooError(f"the zoo {name!r} needs its library: pip install {package}")
    module, _, attribute = path.partition(":")
    built_in: Zoo = getattr(importlib.import_module(module), attribute)()
    return built_in
