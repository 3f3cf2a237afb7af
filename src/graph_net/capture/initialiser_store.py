"""The initialisers of many models heard, without tracing any of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from graph_net.capture.worker import Budget, Spool
from graph_net.capture.zoo.variant import model_name
from graph_net.capture.zoo.zoo import Zoo, ZooEntry
from graph_net.graph import Recipe
from graph_net.graph.json_codec import recipe_to_json
from graph_net.graph.json_reader import JsonReader
from graph_net.graph.limits import DEFAULT_LIMITS
from graph_net.isolate import INHERITED, Pool
from graph_net.store.atomic import write_bytes


class InitialiserStore:
    """A directory with one file for each model: the recipes of its state, or why there are none."""

    def __init__(self, path: Path) -> None:
        self._spool = Spool(path)

    def file(self, library: str, model: str) -> Path:
        """Where a model's recipes are kept."""
        key = self._spool.key(ZooEntry(library, model, "other"))
        return self._spool.path / f"{key}.json.gz"

    def put(self, library: str, model: str, words: dict[str, Any], problem: str = "") -> None:
        """Keep what was heard of a model, as ``hear`` gives it, or why nothing was."""
        tree = {"library": library, "model": model, "problem": problem, "recipes": words}
        data = gzip.compress(json.dumps(tree).encode(), mtime=0)
        write_bytes(self.file(library, model), data, durable=False)

    def problem(self, library: str, model: str) -> str | None:
        """Why nothing was heard of a model: nothing if it was, None if it was never listened to."""
        tree = self._tree(library, model)
        return None if tree is None else str(tree["problem"])

    def recipes(self, library: str, model: str) -> dict[str, Recipe]:
        """What was heard of a model, by the names of its parameters and buffers."""
        tree = self._tree(library, model)
        reader = JsonReader(DEFAULT_LIMITS)
        words = {} if tree is None else tree["recipes"]
        return {name: reader.recipe(word) for name, word in words.items()}

    def _tree(self, library: str, model: str) -> dict[str, Any] | None:
        file = self.file(library, model)
        if not file.exists():
            return None
        tree: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
        return tree


def listen(
    zoo: Zoo, entries: Iterable[ZooEntry], heard: InitialiserStore, jobs: int, budget: Budget
) -> Iterator[tuple[ZooEntry, str]]:
    """Build models and keep what their initialisers write; each with why it failed, if it did.

    One process a model, ``jobs`` at a time. Models that were listened to are passed over.
    """
    new = [e for e in entries if heard.problem(e.library, model_name(e)) is None]
    for done in Pool(budget.limits, jobs, INHERITED).each(new, partial(hear, zoo)):
        problem = "" if done.death is None else done.death.reason[:300]
        words = done.answer if done.death is None else {}
        heard.put(done.item.library, model_name(done.item), words, problem)
        yield done.item, problem


def hear(zoo: Zoo, entry: ZooEntry) -> dict[str, Any]:
    """Build one model and return what its initialisers write, as JSON has it."""
    from graph_net.capture.weights import without_weights

    with without_weights() as watch:
        call = zoo.build(entry)
    recipes = watch.recipes(call.model)
    return {name: recipe_to_json(recipe) for name, recipe in recipes.items()}
