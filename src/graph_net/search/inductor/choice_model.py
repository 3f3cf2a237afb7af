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
from graph_net.programs.triton.family import BYTES
from graph_net.programs.triton.features import NAMES, VERSION, features_of_many
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.target import Target
from graph_net.results import RecordError, digest, read_as
from graph_net.search.inductor.template_call import TemplateCall
from graph_net.search.inductor.tile import Tile, columns_of
from graph_net.store.atomic import write_text
from graph_net.store.files import read_text

FILE = "choices.json"
MOST_BYTES = 1 << 20
MOST_TREES_BYTES = 64 << 20
MOST_MEMBERS = 16
INDUCTOR = "inductor"
"""The last feature: 1 for a template of Inductor, 0 for a kernel of ours."""
COLUMNS = (*NAMES, INDUCTOR)
SIZES = ("rows", "columns", "depth", "taps", "batch")
"""Features of the operation itself, whose ranges define the domain."""


@dataclass(frozen=True)
class ChoiceRule:
    """The domain of a model, and how many choices it keeps."""

    arch: str
    kernels: tuple[str, ...]
    dtypes: tuple[str, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    """Largest SIZES of the training operations (``lows`` has the smallest)."""
    margin: float
    """Tiles whose predicted log time is this close to the best are kept."""
    doubt: float
    """Added to the margin per standard deviation between the members."""
    most: int
    members: int
    device: str = "cuda"
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise ValueError(f"features of version {self.version}, not {VERSION}: train it anew")
        if not 1 <= self.members <= MOST_MEMBERS or not 1 <= self.most <= 64:
            raise ValueError("a rule has 1 to 16 members and keeps 1 to 64 choices")
        if len(self.lows) != len(SIZES) or len(self.highs) != len(SIZES):
            raise ValueError(f"a rule has a range of each of {', '.join(SIZES)}")
        if self.margin < 0 or self.doubt < 0:
            raise ValueError("a margin and a doubt are not negative")


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
        if family is None or family.dtype not in self.rule.dtypes:
            return None
        known = family.module["kernel"] in self.rule.kernels
        return family if known and self._in_range(family) else None

    def _in_range(self, family: Gemm) -> bool:
        """Return whether every size is within a factor of two of the training range."""
        given = (family.m, family.n, family.k, family.taps, family.batch)
        sizes = np.log2(1 + np.array(given, np.float64))
        low, high = np.array(self.rule.lows) - 1, np.array(self.rule.highs) + 1
        return bool(((sizes >= low) & (sizes <= high)).all())

    def scores(self, family: Gemm, tiles: Sequence[Tile]) -> tuple[Floats, Floats]:
        """Return each tile's mean score, and the members' disagreement on its gap to the best."""
        rows = tile_rows(family, tiles)
        found = np.stack([member.predict(rows) for member in self.members])
        mean = found.mean(axis=0)
        behind = found[:, [int(mean.argmax())]] - found
        return mean, behind.std(axis=0)

    def keep(self, family: Gemm, tiles: Sequence[Tile]) -> list[Tile]:
        """Return the tiles worth compiling, the likely best first; at least one."""
        each, shared = BYTES[family.dtype], family.target.shared
        fitting = [tile for tile in tiles if tile.fits(each, shared)]
        if not fitting:
            return []
        return [fitting[place] for place in self.keep_places(*self.scores(family, fitting))]

    def keep_places(self, mean: Floats, spread: Floats) -> list[int]:
        """Return the indices of the scores that the rule keeps, the best first."""
        order = np.argsort(-mean, kind="stable")[: self.rule.most]
        behind = mean[order[0]] - mean[order]
        near = behind <= self.rule.margin + self.rule.doubt * spread[order]
        return [int(place) for place in order[near]]


def tile_rows(family: Gemm, tiles: Sequence[Tile]) -> np.ndarray:
    """Return the features of tiles, in the order of COLUMNS."""
    rows = features_of_many(family, columns_of(tiles))
    return np.hstack([rows, np.ones((len(tiles), 1), np.float32)])


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
