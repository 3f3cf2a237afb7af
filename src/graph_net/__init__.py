"""One system for tensor compilers: graphs as data, measured, scored, learned from, searched.

Importing this loads nothing else: each name is fetched when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_net.api.bench import bench as bench
    from graph_net.api.bisect import bisect as bisect
    from graph_net.api.capture import capture as capture
    from graph_net.api.compare import compare as compare
    from graph_net.api.configs import featurise as featurise
    from graph_net.api.configs import read_configs as read_configs
    from graph_net.api.corpus import Corpus as Corpus
    from graph_net.api.corpus import corpus as corpus
    from graph_net.api.graphs import load as load
    from graph_net.api.graphs import read_sample as read_sample
    from graph_net.api.layout import layout as layout
    from graph_net.api.learn import evaluate as evaluate
    from graph_net.api.learn import learn as learn
    from graph_net.api.programs import ProgramSet as ProgramSet
    from graph_net.api.programs import programs as programs
    from graph_net.api.records import Records as Records
    from graph_net.api.repro import repro as repro
    from graph_net.api.roofline import Roofline as Roofline
    from graph_net.api.roofline import roofline as roofline
    from graph_net.api.serve import serve as serve
    from graph_net.api.subgraphs import subgraphs as subgraphs
    from graph_net.api.tune import tune as tune
    from graph_net.api.validate import validate as validate
    from graph_net.compare import Comparison as Comparison
    from graph_net.graph import Graph as Graph
    from graph_net.results import Record as Record
    from graph_net.score import Scoreboard as Scoreboard

__version__ = "0.1.0"
_PLACES = {
    "Comparison": "graph_net.compare",
    "Corpus": "graph_net.api.corpus",
    "Graph": "graph_net.graph",
    "ProgramSet": "graph_net.api.programs",
    "Record": "graph_net.results",
    "Records": "graph_net.api.records",
    "Roofline": "graph_net.api.roofline",
    "Scoreboard": "graph_net.score",
    "bench": "graph_net.api.bench",
    "bisect": "graph_net.api.bisect",
    "capture": "graph_net.api.capture",
    "compare": "graph_net.api.compare",
    "corpus": "graph_net.api.corpus",
    "evaluate": "graph_net.api.learn",
    "featurise": "graph_net.api.configs",
    "layout": "graph_net.api.layout",
    "learn": "graph_net.api.learn",
    "load": "graph_net.api.graphs",
    "programs": "graph_net.api.programs",
    "read_configs": "graph_net.api.configs",
    "read_sample": "graph_net.api.graphs",
    "repro": "graph_net.api.repro",
    "roofline": "graph_net.api.roofline",
    "serve": "graph_net.api.serve",
    "subgraphs": "graph_net.api.subgraphs",
    "tune": "graph_net.api.tune",
    "validate": "graph_net.api.validate",
}
"""Where each public name is defined."""
__all__ = ["__version__", *_PLACES]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _CallablePackage(ModuleType):
    """A package that shares its name with a public function: calling it calls the function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def _function(self) -> Any:
        return __getattr__(self.__name__.rpartition(".")[2])

    @property
    def __signature__(self) -> Any:
        from inspect import signature  # not needed to import this package

        return signature(self._function)


class _Library(ModuleType):
    """This module. Importing ``graph_net.compare`` makes that package an attribute here, in place
    of the function; it is made callable, so that ``graph_net.compare(...)`` goes on working.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PLACES and isinstance(value, ModuleType):
            value.__class__ = _CallablePackage
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Library
