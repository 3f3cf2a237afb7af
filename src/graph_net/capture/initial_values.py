"""Give a graph that was captured without weights the values its model would start with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from graph_net.capture.initial_by_role import Roles
from graph_net.graph.graph import Graph, Input, Role
from graph_net.graph.recipe import Constant, Literal, Normal, Recipe
from graph_net.graph.spec import TensorSpec

OPTION = "values"
"""The option of a graph's provenance that says where its initial values come from: ``model``, the
initialisers of the model itself; ``role``, the operators that read them; ``model and role``."""
_UNKNOWN = Normal(0.0, 1.0)
"""The recipe of a tensor that was captured without values."""
NEARLY_ZERO = 0.01


def with_initial_values(graph: Graph, initial: Mapping[str, Recipe] | None = None) -> Graph:
    """Return the graph with initial values for the parameters and buffers that never had any.

    ``initial`` holds the recipes that the model's own initialisers wrote, by the names of its
    parameters and buffers; the others are chosen by role. So are two kinds of parameters that have
    a recipe: a layer or scale that starts at or near zero, which would hide everything before it,
    and the end of a residual branch of a model with batch norms, which do not normalise before they
    have seen data: a hundred branches would overflow. Structure, id and names stay.
    """
    roles = Roles(graph)
    sources: set[str] = set()

    def with_recipe(entry: Input) -> Input:
        if not _is_without_values(entry):
            return entry
        recipe = (initial or {}).get(entry.original or "")
        unfit = roles.ends_branch(entry) or (_is_nearly_zero(recipe) and roles.carries(entry))
        if recipe is not None and not unfit and _fits(graph, entry, recipe):
            sources.add("model")
            return replace(entry, recipe=recipe)
        guess = roles.recipe(entry)
        if guess is None:
            return entry
        sources.add("role")
        return replace(entry, recipe=guess)

    inputs = tuple(with_recipe(entry) for entry in graph.inputs)
    if not sources:
        return graph
    options = {**dict(graph.provenance.options), OPTION: " and ".join(sorted(sources))}
    origin = replace(graph.provenance, options=tuple(options.items()))
    return replace(graph, inputs=inputs, provenance=origin)


def _is_without_values(entry: Input) -> bool:
    state = entry.role in (Role.PARAMETER, Role.BUFFER)
    return state and isinstance(entry.spec, TensorSpec) and entry.recipe == _UNKNOWN


def _is_nearly_zero(recipe: Recipe | None) -> bool:
    return isinstance(recipe, Constant) and abs(recipe.value) < NEARLY_ZERO


def _fits(graph: Graph, entry: Input, recipe: Recipe) -> bool:
    """Return whether a recipe can be drawn at the input's size: literals have a fixed size."""
    assert isinstance(entry.spec, TensorSpec)
    count = entry.spec.elements(graph.bindings)
    return not isinstance(recipe, Literal) or len(recipe.values) == count
