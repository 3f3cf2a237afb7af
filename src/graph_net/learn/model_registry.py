"""Find cost models: built-in ones, and others through entry points."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

from graph_net.compilers.option import Json
from graph_net.compilers.registry import parse_options
from graph_net.learn.cost_model import CostModel, read_header
from graph_net.learn.learning_set import LearnError

GROUP = "graph_net.cost_models"
BUILT_IN = {
    "lightgbm": "graph_net.learn.trees:LightGbm",
    "xgboost": "graph_net.learn.trees:XgBoost",
    "blend": "graph_net.learn.blend:Blend",
    "relative": "graph_net.learn.relative:Relative",
    "mixture": "graph_net.learn.mixture:Mixture",
    "in_context": "graph_net.learn.in_context:InContext",
    "in_context_stacked": "graph_net.learn.in_context_stacked:StackedInContext",
    "mlp": "graph_net.learn.neural:Mlp",
    "lstm": "graph_net.learn.neural:LstmModel",
    "attention": "graph_net.learn.neural:AttentionModel",
    "pacm": "graph_net.learn.pacm:Pacm",
    "additive": "graph_net.learn.additive:Additive",
    "layout_levels": "graph_net.learn.layout_levels:LayoutLevels",
    "tile_cost": "graph_net.learn.tile_cost:TileCost",
    "graph_mlp": "graph_net.learn.graph_neural:GraphMlp",
    "gcn": "graph_net.learn.graph_neural:Gcn",
    "graphsage": "graph_net.learn.graph_neural:GraphSage",
    "analytical": "graph_net.learn.analytical:Analytical",
    "residual": "graph_net.learn.residual:ResidualModel",
    "ensemble": "graph_net.learn.ensemble:Ensemble",
}


def model_names() -> list[str]:
    """Return the names of all cost models."""
    return [*BUILT_IN, *sorted({p.name for p in entry_points(group=GROUP)} - BUILT_IN.keys())]


def create_model(name: str, options: Mapping[str, Json] | None = None, seed: int = 0) -> CostModel:
    """Return a new, unfitted model."""
    return _class_of(name)(options, seed)


def create_inner(outer: CostModel, key: str, seed: int) -> CostModel:
    """Return a new model from another's options ``KEY`` and ``KEY_options``."""
    options = outer.settings[f"{key}_options"]
    assert isinstance(options, dict)
    return create_model(str(outer.settings[key]), options, seed)


def model_from_text(text: str, seed: int = 0) -> CostModel:
    """Parse ``lightgbm[objective=lambdarank,rounds=300]`` into a new model."""
    name, bracket, rest = text.strip().partition("[")
    if bracket and not rest.endswith("]"):
        raise LearnError(f"{text!r} is not a model; write lightgbm[rounds=300,leaves=31]")
    return create_model(name.strip(), parse_options(rest[:-1]), seed)


def load_model(folder: Path) -> CostModel:
    """Return the model that ``save_model`` wrote into a folder.

    The folder names a registered model and its declared options; nothing in it is executed.
    """
    header = read_header(folder)
    try:
        options = json.loads(header.settings)
    except (ValueError, RecursionError) as error:
        raise LearnError(f"{folder}: settings are not JSON: {error}") from error
    if not isinstance(options, dict):
        raise LearnError(f"{folder}: settings are a JSON object")
    model = create_model(header.name, options, header.seed)
    try:
        model.load_parts(folder)
    except RecursionError as error:
        raise LearnError(f"{folder} has models inside models without end") from error
    model.domain = header.domain
    return model


def _class_of(name: str) -> type[CostModel]:
    for point in entry_points(group=GROUP):
        if point.name == name:
            return _checked(point.load(), name)
    if name not in BUILT_IN:
        raise LearnError(f"unknown cost model {name!r}; known: {', '.join(model_names())}")
    module, _, attribute = BUILT_IN[name].partition(":")
    return _checked(getattr(importlib.import_module(module), attribute), name)


def _checked(found: object, name: str) -> type[CostModel]:
    if isinstance(found, type) and issubclass(found, CostModel):
        return found
    raise LearnError(f"{name} is {found!r}, not a class of CostModel")
