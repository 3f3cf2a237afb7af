"""Samples with something wrong in them."""

from __future__ import annotations

from pathlib import Path

import torch

import oracle
from formats.constructs import source_of

ARGUMENTS = {
    "x": torch.ones(2, 3),
    "i": torch.tensor([0, 1]),
    "b": torch.tensor([True, False]),
    "s": 2,
}


def write(directory: Path, body: str = "return (x, i, b, s)", **files: str) -> Path:
    """A good sample with this body of its forward, in which some files are replaced."""
    oracle.write_files(directory, source_of(body), ARGUMENTS)
    for name, content in files.items():
        path = directory / (f"{name}.py" if name != "graph_net" else "graph_net.json")
        path.write_text(content)
    return directory


def meta(**changes: str) -> str:
    """A weight_meta.py in which lines of the class of ``x`` are replaced."""
    fields = {
        "name": '"x"',
        "shape": "[2, 3]",
        "dtype": '"torch.float32"',
        "device": '"cpu"',
        "mean": "0.0",
        "std": "1.0",
        "data": "None",
    }
    lines = [f"    {key} = {text}" for key, text in (fields | changes).items() if text]
    rest = [f"class M{n}:\n    name = '{n}'\n    data = [1]\n    shape = [1]\n" for n in "ibs"]
    return "\n".join(["class Program_weight_tensor_meta_x:", *lines, "", *rest])
