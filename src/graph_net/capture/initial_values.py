"""A graph whose weights were never there, given the values its model would begin with."""

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
_WITHOUT = Normal(0.0, 1.0)
"""What a tensor without values gets before anything is known of it."""
NEARLY_ZERO = 0.01


def with_initial_values(graph: Graph, initial: Mapping[str, Recipe] | None = None) -> Graph:
    """The graph, parameters and buffers that never had values drawn as its model would begin.

    ``initial`` are the recipes a model's own initialisers were heard to write, by the names of its
    parameters and buffers; the others go by role. So does a layer or a scale that a model begins
    with at zero or nearly so: whatever came before it would not be seen in the outputs. And so does
    what ends a residual branch of a model with batch norms: they do not normalise before they have
    seen data, and a hundred branches would grow beyond all bounds. Structure, id and names stay.
    """
    roles = Roles(graph)
    sources: set[str] = set()

    def given(entry: Input) -> Input:
        if not _is_without_values(entry):
            return entry
        heard = (initial or {}).get(entry.original or "")
        unfit = roles.ends_branch(entry) or (_is_nearly_zero(heard) and roles.carries(entry))
        if heard is not None and not unfit and _fits(graph, entry, heard):
            sources.add("model")
            return replace(entry, recipe=heard)
        guess = roles.recipe(entry)
        if guess is None:
            return entry
        sources.add("role")
        return replace(entry, recipe=guess)

    inputs = tuple(given(entry) for entry in graph.inputs)
    if not sources:
        return graph
    options = {**dict(graph.provenance.options), OPTION: " and ".join(sorted(sources))}
    origin = replace(graph.provenance, options=tuple(options.items()))
    return replace(graph, inputs=inputs, provenance=origin)


def _is_without_values(entry: Input) -> bool:
    state = entry.role in (Role.PARAMETER, Role.BUFFER)
    return state and isinstance(entry.spec, TensorSpec) and entry.recipe == _WITHOUT


def _is_nearly_zero(recipe: Recipe | None) -> bool:
    return isinstance(recipe, Constant) and abs(recipe.value) < NEARLY_ZERO


def _fits(graph: Graph, entry: Input, recipe: Recipe) -> bool:
    """Whether a recipe can be drawn at the input's size: literals have one of their own."""
    assert isinstance(entry.spec, TensorSpec)
    count = entry.spec.elements(graph.bindings)
    return not isinstance(recipe, Literal) or len(recipe.values) == count
