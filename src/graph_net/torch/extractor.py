"""``graph_net.torch.extract``: run a model, find its graphs as sample directories."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import fx, nn

from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import Provenance
from graph_net.graph.fx import from_fx

WORKSPACE = "GRAPH_NET_EXTRACT_WORKSPACE"


def extract(
    name: str, dynamic: bool = True, mut_graph_codes: list[str] | None = None
) -> Callable[[Any], Any]:
    """A wrapper for a model, or decorator for its class, that writes what it computes.

    ``extract(name="resnet18")(model)`` gives the model back, compiled; its first call leaves a
    GraphNet sample in ``$GRAPH_NET_EXTRACT_WORKSPACE/resnet18``. Where the model breaks into
    several graphs they lie in ``subgraph_0``, ``subgraph_1``, … below it. A directory that exists
    already is left alone: the new one gets a number.
    """
    place = os.environ.get(WORKSPACE)
    if not place:
        raise OSError(f"set ${WORKSPACE} to the directory that extracted graphs go to")

    def wrap(model: nn.Module) -> Any:
        keep = _Keeper(name, dynamic, Path(place), mut_graph_codes)
        return torch.compile(model, backend=keep, dynamic=dynamic)

    def wrap_or_decorate(target: Any) -> Any:
        if isinstance(target, nn.Module):
            return wrap(target)
        if isinstance(target, type) and issubclass(target, nn.Module):
            return lambda *args, **kwargs: wrap(target(*args, **kwargs))
        raise TypeError(
            f"extract takes an nn.Module or a class of one, not {type(target).__name__}"
        )

    return wrap_or_decorate


class _Keeper:
    """A Dynamo backend that writes each graph it is given and runs it as it is."""

    def __init__(self, name: str, dynamic: bool, place: Path, codes: list[str] | None) -> None:
        self.name, self.dynamic, self.codes = name, dynamic, codes
        self.directory = _free(place / name)
        self.count = 0

    def __call__(self, module: fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
        if self.codes is not None:
            self.codes.append(module.code)
        origin = Provenance(
            model=self.name,
            framework_version=torch.__version__.partition("+")[0],
            options=(("dynamic", self.dynamic),),
        )
        graph = from_fx(module, examples, provenance=origin)
        target = self.directory
        if self.count == 1:
            # A second graph: the first one makes room for its siblings.
            aside = self.directory.with_name(f".{self.directory.name}.first")
            self.directory.rename(aside)
            self.directory.mkdir()
            aside.rename(self.directory / "subgraph_0")
        if self.count:
            target = self.directory / f"subgraph_{self.count}"
        write_sample(graph, target)
        self.count += 1
        print(f"Graph and tensors for '{self.name}' extracted successfully to: {target}")
        return module.forward


def _free(path: Path) -> Path:
    """The path, or the first one with a number behind it that does not exist."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}_{number}")
    return candidate
