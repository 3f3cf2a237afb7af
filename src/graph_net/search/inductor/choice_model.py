"""ChoiceModel: which tiles of an operation are worth compiling, by trees and their uncertainty.

Needs only numpy, so that it runs inside a compiler anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from graph_net.learn.learning_set import LearnError
from graph_net.learn.metrics import Floats
from graph_net.learn.numpy_trees import NumpyTrees
from graph_net.learn.tree_files import BadTrees
from graph_net.programs.triton.features import NAMES, features_of_many
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.target import Target
from graph_net.results import RecordError, digest, read_as
from graph_net.search.inductor.choice_rule import ChoiceRule
from graph_net.search.inductor.families import FLEX, PAIR, SCALED
from graph_net.search.inductor.template_call import TemplateCall
from graph_net.search.inductor.tile import Tile, columns_of
from graph_net.store.atomic import write_text
from graph_net.store.files import read_text

FILE = "choices.json"
MOST_BYTES = 1 << 20
MOST_TREES_BYTES = 64 << 20
INDUCTOR = "inductor"
"""A feature: 1 for a template of Inductor, 0 for a kernel of ours."""
TEMPLATES = (PAIR, SCALED, FLEX)
"""Kernels that only Inductor has."""
OF_FLEX = ("d", "shared", "masked")
"""What a module of flex attention has beside sizes of products."""
COLUMNS = (*NAMES, INDUCTOR, *(f"is_{kernel}" for kernel in TEMPLATES), *OF_FLEX)


@dataclass(frozen=True)
class ChoiceModel:
    """Members that score tiles: higher is faster, in units of log time."""

    rule: ChoiceRule
    members: tuple[NumpyTrees, ...]
    uuid: str
    """Hash of rule and trees, used in the key of a compiler's cache."""

    def family(self, call: TemplateCall, target: Target) -> Gemm | None:
        """Return the family of an operation in the model's domain; None for others."""
        if call.device != self.rule.device or target.arch != self.rule.arch:
            return None
        family = call.family(target)
        known = None if family is None else self.rule.kernels.get(family.module["kernel"])
        return family if family is not None and known is not None and known.has(family) else None

    def scores(self, family: Gemm, tiles: Sequence[Tile]) -> Floats:
        """Return the members' scores: a row for each member, a column for each tile."""
        rows = tile_rows(family, tiles)
        return np.stack([member.predict(rows) for member in self.members])

    def keep(self, family: Gemm, tiles: Sequence[Tile]) -> list[Tile]:
        """Return the tiles worth compiling, the likely best first; at least one."""
        fitting = [tile for tile in tiles if tile.fits_in(family)]
        if not fitting:
            return []
        scores = agreement(self.scores(family, fitting))
        return [fitting[place] for place in self.rule.of(family).keep(fitting, *scores)]


def agreement(scores: Floats) -> tuple[Floats, Floats]:
    """Return each tile's mean score, and the members' disagreement on its gap to the best."""
    mean = scores.mean(axis=0)
    if not mean.size:
        return mean, mean
    behind = scores[:, [int(mean.argmax())]] - scores
    return mean, behind.std(axis=0)


def tile_rows(family: Gemm, tiles: Sequence[Tile]) -> np.ndarray:
    """Return the features of tiles, in the order of COLUMNS."""
    rows = features_of_many(family, columns_of(tiles))
    return np.hstack([rows, np.tile(_of_template(family), (len(tiles), 1))])


def _of_template(family: Gemm) -> np.ndarray:
    """Return the columns that our own kernels do not have; zeros for them."""
    module = family.module
    kernels = [float(module["kernel"] == kernel) for kernel in TEMPLATES]
    flex = [np.log2(1 + float(module.get(name, 0))) for name in OF_FLEX]
    return np.array([1.0, *kernels, *flex], np.float32)


def save_choices(rule: ChoiceRule, texts: Sequence[str], folder: Path, card: str) -> None:
    """Write a model into a new folder: its rule, one text of trees per member, and its card."""
    folder.mkdir(parents=True)
    for place, text in enumerate(texts):
        write_text(folder / f"trees-{place}.txt", text)
    write_text(folder / "README.md", card)
    write_text(folder / FILE, json.dumps(asdict(rule), indent=1) + "\n")


def load_choices(folder: str | Path) -> ChoiceModel:
    """Return the model of a folder; raise LearnError if there is none."""
    folder = Path(folder)
    try:
        rule = read_as(ChoiceRule, read_text(folder / FILE, MOST_BYTES), "model of choices")
        paths = [folder / f"trees-{place}.txt" for place in range(rule.members)]
        texts = [read_text(path, MOST_TREES_BYTES) for path in paths]
        return model_of(rule, texts)
    except OSError as error:
        raise LearnError(f"{folder} holds no model of choices: {error}") from error
    except (RecordError, BadTrees, ValueError) as error:
        raise LearnError(f"{folder} holds no model of choices: {error}") from error


def model_of(rule: ChoiceRule, texts: Sequence[str]) -> ChoiceModel:
    """Return the model of a rule and LightGBM texts."""
    members = tuple(NumpyTrees.read(text) for text in texts)
    if any(member.columns != len(COLUMNS) for member in members):
        raise LearnError(f"trees of other features than the {len(COLUMNS)} of tiles: train anew")
    return ChoiceModel(rule, members, digest("choices", json.dumps(asdict(rule)), *texts))
