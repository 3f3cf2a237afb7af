"""``graph_net.torch.extract``: write the graphs of a model as samples when it runs."""

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
    """Return a wrapper for a model, or decorator for its class, that writes what it computes.

    ``extract(name="resnet18")(model)`` returns the model, compiled; its first call writes a
    GraphNet sample to ``$GRAPH_NET_EXTRACT_WORKSPACE/resnet18``. If the model breaks into several
    graphs they are ``subgraph_0``, ``subgraph_1``, … below it. An existing directory is left alone:
    the new one gets a number.
    """
    workspace = os.environ.get(WORKSPACE)
    if not workspace:
        raise OSError(f"set ${WORKSPACE} to the directory that extracted graphs go to")

    def wrap(model: nn.Module) -> Any:
        writer = _SampleWriter(name, dynamic, Path(workspace), mut_graph_codes)
        return torch.compile(model, backend=writer, dynamic=dynamic)

    def wrap_or_decorate(target: Any) -> Any:
        if isinstance(target, nn.Module):
            return wrap(target)
        if isinstance(target, type) and issubclass(target, nn.Module):
            return lambda *args, **kwargs: wrap(target(*args, **kwargs))
        raise TypeError(
            f"extract takes an nn.Module or a class of one, not {type(target).__name__}"
        )

    return wrap_or_decorate


class _SampleWriter:
    """A Dynamo backend that writes each graph it is given and runs it as it is."""

    def __init__(self, name: str, dynamic: bool, workspace: Path, codes: list[str] | None) -> None:
        self.name, self.dynamic, self.codes = name, dynamic, codes
        self.directory = _free_path(workspace / name)
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


def _free_path(path: Path) -> Path:
    """Return the path, or with the first number appended that does not exist."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}_{number}")
    return candidate
