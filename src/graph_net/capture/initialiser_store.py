"""Record the values that the initialisers of many models write, without tracing the models."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from graph_net.capture.worker import Spool
from graph_net.capture.zoo.variant import model_name
from graph_net.capture.zoo.zoo import Zoo, ZooEntry
from graph_net.graph import Recipe
from graph_net.graph.json_codec import recipe_to_json
from graph_net.graph.json_reader import JsonReader
from graph_net.graph.limits import DEFAULT_LIMITS
from graph_net.isolate import INHERITED, Limits, Pool
from graph_net.store.atomic import write_bytes


class InitialiserStore:
    """A directory with one file per model: the recipes of its state, or why they are missing."""

    def __init__(self, path: Path) -> None:
        self._spool = Spool(path)

    def file(self, library: str, model: str) -> Path:
        """Return the path of a model's recipes."""
        key = self._spool.key(ZooEntry(library, model, "other"))
        return self._spool.path / f"{key}.json.gz"

    def put(self, library: str, model: str, recipes: dict[str, Any], problem: str = "") -> None:
        """Store a model's recipes as ``initial_recipes_of`` gives them, or why there are none."""
        tree = {"library": library, "model": model, "problem": problem, "recipes": recipes}
        data = gzip.compress(json.dumps(tree).encode(), mtime=0)
        write_bytes(self.file(library, model), data, durable=False)

    def problem(self, library: str, model: str) -> str | None:
        """Return why a model has no recipes: empty if it has, None if it was never tried."""
        tree = self._tree(library, model)
        return None if tree is None else str(tree["problem"])

    def recipes(self, library: str, model: str) -> dict[str, Recipe]:
        """Return a model's recipes, by the names of its parameters and buffers."""
        tree = self._tree(library, model)
        reader = JsonReader(DEFAULT_LIMITS)
        stored = {} if tree is None else tree["recipes"]
        return {name: reader.recipe(value) for name, value in stored.items()}

    def _tree(self, library: str, model: str) -> dict[str, Any] | None:
        file = self.file(library, model)
        if not file.exists():
            return None
        tree: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
        return tree


def record_initialisers(
    zoo: Zoo, entries: Iterable[ZooEntry], store: InitialiserStore, jobs: int, limits: Limits
) -> Iterator[tuple[ZooEntry, str]]:
    """Build the models that the store lacks; yield each entry with why it failed, if it did.

    One process per model, ``jobs`` at a time.
    """
    new = [e for e in entries if store.problem(e.library, model_name(e)) is None]
    for done in Pool(limits, jobs, INHERITED).each(new, partial(initial_recipes_of, zoo)):
        problem = "" if done.death is None else done.death.reason[:300]
        recipes = done.answer if done.death is None else {}
        store.put(done.item.library, model_name(done.item), recipes, problem)
        yield done.item, problem


def initial_recipes_of(zoo: Zoo, entry: ZooEntry) -> dict[str, Any]:
    """Build one model and return what its initialisers write, as JSON."""
    from graph_net.capture.weights import without_weights

    with without_weights() as watch:
        call = zoo.build(entry)
    recipes = watch.recipes(call.model)
    return {name: recipe_to_json(recipe) for name, recipe in recipes.items()}
