"""vit-pytorch: the models its README names, with the README's own settings.

The library has no registry and hardly any defaults: its README names the models and gives their
sizes. The README is in the metadata of the installed package, so the settings are read from there:
parsed, never executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module, metadata
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.zoo import Call, ZooEntry

_PACKAGE = "vit_pytorch"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
_ABSENT = frozenset(
    {
        *("dino.Dino", "es_vit.EsViTTrainer", "recorder.Recorder"),
        *("na_vit.NaViT", "na_vit_nested_tensor.NaViT", "ats_vit.ViT"),
        *("mae.MAE", "simmim.SimMIM"),
    }
)
"""Trainers that crop at random, a tool that inspects models, models whose sizes depend on values,
and two that expect another shape from a method of the installed ``ViT``."""
_ONLY_TRAINING = frozenset({"layer_dropout"})
"""Settings to omit: the library drops layers at random in evaluation too."""
_KINDS = {
    "mp3.MP3": "masked image modeling",
    "vit_with_patch_merger.PatchMerger": "token merging",
    "vit_for_small_dataset.SPT": "patch embedding",
}
_RENAMED = {"vit_pytorch.vivit": {"ViT": "ViViT"}}
"""Classes that the README calls by their former name."""
_VIDEO = re.compile(r"_3d$|^vivit$")


@dataclass(frozen=True, slots=True)
class Example:
    """A model as the README constructs it, and the input it is called with, if shown."""

    maker: Any
    settings: Mapping[str, Any]
    shape: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        """The library's own name: the file and the class or function in it."""
        return f"{self.maker.__module__.removeprefix(f'{_PACKAGE}.')}.{self.maker.__name__}"

    def build(self) -> nn.Module:
        """Build the model; a setting that is a model itself is built with it."""
        settings = {
            key: value.build() if isinstance(value, Example) else value
            for key, value in self.settings.items()
        }
        model: nn.Module = self.maker(**settings)
        return model


class VitPytorchZoo:
    """Every model vit-pytorch's README shows, once: the first example that calls it."""

    library = _PACKAGE

    def entries(self) -> Iterator[ZooEntry]:
        for name in examples(readme()):
            module = name.partition(".")[0]
            plain = "video classification" if _VIDEO.search(module) else "classification"
            kind = _KINDS.get(name, plain)
            yield ZooEntry(self.library, name, "computer_vision", kind, (module,))

    def build(self, entry: ZooEntry) -> Call:
        example = examples(readme())[entry.name]
        assert example.shape is not None
        return Call(example.build().eval(), (torch.zeros(1, *example.shape[1:]),))


def readme() -> str:
    """Return the library's README from the metadata of the installed package."""
    return str(metadata.metadata("vit-pytorch").json["description"])


def examples(text: str) -> dict[str, Example]:
    """Return what a README's Python blocks construct of the library, by name."""
    first: dict[str, Example] = {}
    makers: dict[str, Any] = {}
    for block in _BLOCK.findall(text):
        for example in _read_block(ast.parse(block), makers):
            # An example without a call says less than a later one that has one.
            if example.name not in first or first[example.name].shape is None:
                first[example.name] = example
    sized = {name: _with_shape(example) for name, example in first.items() if name not in _ABSENT}
    return {name: example for name, example in sized.items() if example.shape is not None}


def _read_block(tree: ast.Module, makers: dict[str, Any]) -> Iterator[Example]:
    """Yield the examples of one block; its imports are added to ``makers`` for later blocks."""
    models: dict[str, Example] = {}
    shape: tuple[int, ...] | None = None
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(_PACKAGE):
            makers |= _import_names(statement)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            shape = shape or _shape(statement.value)
            example = _example(statement.value, makers, models)
            if example is not None:
                models[statement.targets[0].id] = example
    return (replace(example, shape=shape) for example in models.values())


def _example(call: ast.expr, makers: dict[str, Any], models: dict[str, Example]) -> Example | None:
    """Return what a call constructs; None if it is not of the library or lacks settings."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        return None
    settings = {
        str(keyword.arg): _setting(keyword.value, models)
        for keyword in call.keywords
        if keyword.arg not in _ONLY_TRAINING
    }
    if call.func.id not in makers or None in settings.values():
        return None
    return Example(makers[call.func.id], settings)


def _import_names(statement: ast.ImportFrom) -> dict[str, Any]:
    try:
        module = import_module(str(statement.module))
    except ImportError:  # a file that needs another library
        return {}
    names = [alias.name for alias in statement.names]
    renamed = _RENAMED.get(module.__name__, {})
    return {name: getattr(module, renamed.get(name, name)) for name in names}


def _setting(value: ast.expr, models: Mapping[str, Example]) -> Any:
    """Return a literal, or the model a variable names; None for anything else."""
    if isinstance(value, ast.Name):
        return models.get(value.id)
    try:
        return ast.literal_eval(value)
    except ValueError:
        return None


def _shape(value: ast.expr) -> tuple[int, ...] | None:
    """Return the size of ``torch.randn(…)``; None for anything else."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "torch.randn":
        return tuple(ast.literal_eval(size) for size in value.args)
    return None


def _with_shape(example: Example) -> Example:
    """Return the example with the image its settings ask for, if it shows no call."""
    side = example.settings.get("image_size") or example.settings.get("img_size")
    if example.shape is not None or not isinstance(side, int):
        return example
    return replace(example, shape=(1, 3, side, side))
