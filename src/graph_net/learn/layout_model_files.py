"""A learned predictor of layouts in a folder: saved with LightGBM, loaded without it.

``layouts.json`` says what was learned from, and which ensembles the model has; every member is a
file of trees in LightGBM's text, compressed. The values that were solved for are written as leaves.
Files are checked as they are read, and nothing in them is executed.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from graph_net.configs.layouts.call_features import COLUMNS as CALLS
from graph_net.configs.layouts.call_features import WORK
from graph_net.configs.layouts.call_trees import CallTrees, RowTrees, SolvedTrees
from graph_net.configs.layouts.hand_features import COLUMNS as HAND
from graph_net.configs.layouts.layout_models import (
    HandTrees,
    LayoutMember,
    LayoutModel,
    MeanOfMembers,
    RankBlend,
)
from graph_net.configs.layouts.layout_predictor import LearnedLayouts
from graph_net.learn.learning_set import LearnError
from graph_net.learn.numpy_trees import NumpyTrees
from graph_net.learn.tree_files import LightGbmTree, parse_lightgbm, write_lightgbm
from graph_net.results import digest, read_as
from graph_net.store.atomic import write_bytes, write_text
from graph_net.store.files import read_bytes, read_text

FILE = "layouts.json"
VERSION = 1
"""Raise it when a feature changes its meaning, but not its name."""
FEATURES = digest("layout features", str(VERSION), *CALLS, *WORK, *HAND)
MOST_BYTES, MOST_TREE_BYTES = 1 << 20, 64 << 20
MOST_ENSEMBLES, MOST_MEMBERS = 8, 64


class TreesOver(StrEnum):
    """What the rows of an ensemble's trees are."""

    CALLS = "calls"
    LAYOUTS = "layouts"


COLUMNS_OF = {TreesOver.CALLS: len(CALLS), TreesOver.LAYOUTS: len(HAND)}


@dataclass(frozen=True)
class SavedEnsemble:
    """One ensemble of a model: the mean of its members."""

    name: str
    over: TreesOver
    starts: tuple[float, ...]
    """For each member the factor before the first tree; 0 for trees over layouts."""
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= len(self.starts) <= MOST_MEMBERS:
            raise ValueError(f"an ensemble has 1 to {MOST_MEMBERS} members")
        if not math.isfinite(sum(self.starts)) or not 0 < self.weight < math.inf:
            raise ValueError("a start is a finite number, and a weight is positive")


@dataclass(frozen=True)
class SavedLayouts:
    """What ``layouts.json`` holds."""

    name: str
    target: str
    layouts: int
    graphs: int
    features: str
    """Hash of the names and the version of all features."""
    ensembles: tuple[SavedEnsemble, ...]

    def __post_init__(self) -> None:
        if self.features != FEATURES:
            raise ValueError("it was learned from other features: learn it anew")
        if not 1 <= len(self.ensembles) <= MOST_ENSEMBLES:
            raise ValueError(f"a model has 1 to {MOST_ENSEMBLES} ensembles")


def is_layout_model(folder: Path) -> bool:
    """Return whether a folder holds a saved predictor of layouts."""
    return (folder / FILE).exists()


def save_layouts(predictor: LearnedLayouts, folder: Path) -> None:
    """Write a learned predictor into a folder; its description is written last."""
    model = predictor.model
    weighted = model.models if isinstance(model, RankBlend) else [(model, 1.0)]
    ensembles = []
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).unlink(missing_ok=True)  # it would describe other trees, were this cut short
    for number, (ensemble, weight) in enumerate(weighted):
        members = ensemble.members if isinstance(ensemble, MeanOfMembers) else [ensemble]
        for member, trees in enumerate(members):
            data = gzip.compress(_text_of(trees).encode(), mtime=0)
            write_bytes(folder / _tree_file(number, member), data)
        over = TreesOver.CALLS if isinstance(members[0], CallTrees) else TreesOver.LAYOUTS
        starts = tuple(one.start if isinstance(one, CallTrees) else 0.0 for one in members)
        ensembles.append(SavedEnsemble(ensemble.name, over, starts, weight))
    saved = SavedLayouts(
        model.name, predictor.target, predictor.layouts, predictor.graphs, FEATURES,
        tuple(ensembles),
    )  # fmt: skip
    write_text(folder / FILE, json.dumps(asdict(saved), indent=1) + "\n")


def load_layouts(folder: str | Path) -> LearnedLayouts:
    """Return the predictor of a folder, evaluated by numpy; raise LearnError if there is none."""
    folder = Path(folder)
    try:
        saved = read_as(SavedLayouts, read_text(folder / FILE, MOST_BYTES), "model of layouts")
        ensembles = [
            (_read_ensemble(folder, number, one), one.weight)
            for number, one in enumerate(saved.ensembles)
        ]
    except (OSError, ValueError) as error:
        raise LearnError(f"{folder} holds no model of layouts: {error}") from error
    model: LayoutModel = (
        ensembles[0][0] if len(ensembles) == 1 else RankBlend(ensembles, saved.name)
    )
    return LearnedLayouts(model, saved.layouts, saved.graphs, saved.target)


def _tree_file(ensemble: int, member: int) -> str:
    return f"trees-{ensemble}-{member}.txt.gz"


def _text_of(member: LayoutMember) -> str:
    """Return the trees of a member; raise LearnError unless LightGBM has just learned them."""
    if isinstance(member, CallTrees) and isinstance(member.trees, SolvedTrees):
        columns, trees = _solved(member.trees)
        return write_lightgbm(columns, trees, "regression")
    if isinstance(member, HandTrees) and hasattr(member.booster, "model_to_string"):
        columns, trees = parse_lightgbm(str(member.booster.model_to_string()))
        return write_lightgbm(columns, trees, "regression")
    raise LearnError("only what was just learned is saved; copy the folder of a loaded model")


def _solved(trees: SolvedTrees) -> tuple[int, Sequence[LightGbmTree]]:
    """Return trees over calls with the values that were solved for."""
    if not len(trees.values):
        return len(CALLS), [LightGbmTree([], [], [], [], [], [0.0])]
    text = trees.booster.model_to_string(num_iteration=len(trees.values))
    columns, grown = parse_lightgbm(str(text))
    return columns, [
        replace(tree, leaves=[float(value) for value in values[: len(tree.leaves)]])
        for tree, values in zip(grown, trees.values, strict=True)
    ]


def _read_ensemble(folder: Path, number: int, saved: SavedEnsemble) -> MeanOfMembers:
    members: list[LayoutMember] = []
    for member, start in enumerate(saved.starts):
        path = folder / _tree_file(number, member)
        trees = NumpyTrees.read(_expand(path))
        if trees.columns != COLUMNS_OF[saved.over]:
            raise ValueError(
                f"{path.name} has trees of {trees.columns} features, not {COLUMNS_OF[saved.over]}"
            )
        members.append(_member(trees, saved, start))
    return MeanOfMembers(members, saved.name)


def _member(trees: RowTrees, saved: SavedEnsemble, start: float) -> LayoutMember:
    if saved.over is TreesOver.CALLS:
        return CallTrees(trees, start)
    return HandTrees(trees, saved.name)


def _expand(path: Path) -> str:
    """Return the text of a compressed file, read up to a limit."""
    data = read_bytes(path, MOST_TREE_BYTES)
    expander = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = expander.decompress(data, MOST_TREE_BYTES)
    except zlib.error as error:
        raise ValueError(f"{path.name} is no gzip file: {error}") from error
    if not expander.eof or expander.unused_data:
        raise ValueError(f"{path.name} is cut short, or larger than {MOST_TREE_BYTES >> 20} MiB")
    return text.decode()
