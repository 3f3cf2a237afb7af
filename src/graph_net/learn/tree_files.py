"""Boosted trees in LightGBM's and XGBoost's text, validated before either library reads them.

Both libraries trust their input: an invalid child crashes or hangs the process. Here a file is
parsed, every tree is checked, and the library gets a text rewritten from the numbers. In both
formats a child comes after its parent, so every path ends.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_LEAVES = 4096
MOST_TREES = MOST_COLUMNS = 100_000
ROOT = 2147483647
"""The parent of a root in XGBoost's files."""
DECISIONS = (0, 2, 8, 10)
"""LightGBM's codes of numeric splits: which values are missing, and where those go."""


class BadTrees(ValueError):
    """A text without valid trees."""


@dataclass(frozen=True)
class LightGbmTree:
    """A LightGBM tree: splits in creation order, leaves as negative children."""

    features: Sequence[int]
    thresholds: Sequence[float]
    decisions: Sequence[int]
    lefts: Sequence[int]
    rights: Sequence[int]
    leaves: Sequence[float]

    def check(self, columns: int) -> None:
        """Raise BadTrees unless every path ends in a leaf."""
        splits = len(self.leaves) - 1
        sides = (self.features, self.thresholds, self.decisions, self.lefts, self.rights)
        if not 0 <= splits < MOST_LEAVES or any(len(side) != splits for side in sides):
            raise BadTrees("a tree has one leaf more than splits")
        if not all(0 <= feature < columns for feature in self.features):
            raise BadTrees("a split is of a feature that is there")
        if not all(decision in DECISIONS for decision in self.decisions):
            raise BadTrees("a split compares a number with a threshold")
        _check_numbers(self.thresholds)
        _check_numbers(self.leaves)
        for place, children in enumerate(zip(self.lefts, self.rights, strict=True)):
            if not all(place < child < splits or -splits - 1 <= child < 0 for child in children):
                raise BadTrees("a child is a later split or a leaf")

    def text(self) -> str:
        """Return the tree's section of a file."""
        fields: dict[str, Sequence[object]] = {"num_leaves": [len(self.leaves)], "num_cat": [0]}
        if len(self.leaves) > 1:
            fields |= {
                "split_feature": self.features,
                "split_gain": [0] * len(self.features),
                "threshold": self.thresholds,
                "decision_type": self.decisions,
                "left_child": self.lefts,
                "right_child": self.rights,
            }
        fields["leaf_value"] = self.leaves
        if len(self.leaves) > 1:
            fields |= {"leaf_weight": [1] * len(self.leaves), "leaf_count": [1] * len(self.leaves)}
            inner = [0] * len(self.features)
            fields |= dict.fromkeys(("internal_value", "internal_weight", "internal_count"), inner)
        fields |= {"is_linear": [0], "shrinkage": [1]}
        return "".join(f"{key}={' '.join(map(str, values))}\n" for key, values in fields.items())


def parse_lightgbm(text: str) -> tuple[int, list[LightGbmTree]]:
    """Return the number of features and the trees of a LightGBM text; else raise BadTrees."""
    columns = _columns(dict(_fields(text.partition("\nTree=")[0])).get("max_feature_idx", ""), 1)
    body, end, _ = text.partition("\nTree=")[2].partition("\nend of trees")
    if not end:
        raise BadTrees("the text has no `end of trees`: it is cut off")
    sections = body.split("\nTree=")
    if len(sections) > MOST_TREES:
        raise BadTrees(f"{len(sections):,} trees; up to {MOST_TREES:,} are read")
    trees = []
    for section in sections:
        tree = _lightgbm_tree(dict(_fields(section)))
        tree.check(columns)
        trees.append(tree)
    return columns, trees


def rewrite_lightgbm(text: str, objective: str) -> str:
    """Return a LightGBM text rewritten from its parsed trees; raise BadTrees if it is invalid."""
    return write_lightgbm(*parse_lightgbm(text), objective)


def write_lightgbm(columns: int, trees: Sequence[LightGbmTree], objective: str) -> str:
    """Return the LightGBM text of trees over ``columns`` features."""
    names = " ".join(f"Column_{place}" for place in range(columns))
    head = (
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
        f"max_feature_idx={columns - 1}\nobjective={objective}\nfeature_names={names}\n"
        f"feature_infos={' '.join(['[-1e300:1e300]'] * columns)}\n\n"
    )
    written = (f"Tree={place}\n{tree.text()}\n\n" for place, tree in enumerate(trees))
    return head + "".join(written) + "end of trees\n"


def _fields(section: str) -> Iterator[tuple[str, str]]:
    for line in section.splitlines()[1:]:
        key, equals, value = line.partition("=")
        if equals:
            yield key, value


def _lightgbm_tree(fields: Mapping[str, str]) -> LightGbmTree:
    if fields.get("num_cat") != "0" or fields.get("is_linear", "0") != "0":
        raise BadTrees("splits by category and linear leaves are not read")
    try:
        whole = {key: _whole(fields.get(key, "")) for key in _WHOLE}
        real = {key: [float(word) for word in fields.get(key, "").split()] for key in _REAL}
    except ValueError as error:
        raise BadTrees(f"not a number: {error}") from error
    if _whole(fields.get("num_leaves", "")) != [len(real["leaf_value"])]:
        raise BadTrees("a tree has as many leaves as it says")
    return LightGbmTree(
        whole["split_feature"],
        real["threshold"],
        whole["decision_type"],
        whole["left_child"],
        whole["right_child"],
        real["leaf_value"],
    )


_WHOLE = ("split_feature", "decision_type", "left_child", "right_child")
_REAL = ("threshold", "leaf_value")


def _whole(text: str) -> list[int]:
    return [int(word) for word in text.split()]


def rewrite_xgboost(text: str, objective: str) -> str:
    """Return an XGBoost JSON rewritten from its parsed trees; raise BadTrees if it is invalid."""
    try:
        learner = json.loads(text)["learner"]
        trees = learner["gradient_booster"]["model"]["trees"]
        columns = _columns(learner["learner_model_param"]["num_feature"], 0)
        base = learner["learner_model_param"]["base_score"]
        score = float(str(base).strip("[]"))
        written = [_xgboost_tree(tree, columns, place) for place, tree in enumerate(trees)]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise BadTrees(f"not trees of XGBoost: {error}") from error
    if not 0 < len(written) <= MOST_TREES:
        raise BadTrees(f"{len(written):,} trees; 1 to {MOST_TREES:,} are read")
    _check_numbers([score])
    return json.dumps(_xgboost_model(written, columns, objective, score))


def _xgboost_tree(tree: Mapping[str, Any], columns: int, place: int) -> dict[str, Any]:
    lefts, rights = _listed(tree["left_children"], int), _listed(tree["right_children"], int)
    features = _listed(tree["split_indices"], int)
    conditions = _listed(tree["split_conditions"], float)
    missing = _listed(tree["default_left"], int)
    weights = _listed(tree["base_weights"], float)
    count = len(lefts)
    if not 0 < count < 2 * MOST_LEAVES or any(_listed(tree["split_type"], int)):
        raise BadTrees("a tree has nodes that compare numbers")
    if any(len(side) != count for side in (rights, features, conditions, missing, weights)):
        raise BadTrees("every node has all its numbers")
    if not all(0 <= feature < columns for feature in features):
        raise BadTrees("a split is of a feature that is there")
    _check_numbers(conditions)
    _check_numbers(weights)
    return {
        "base_weights": weights,
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": [int(bool(value)) for value in missing],
        "id": place,
        "left_children": lefts,
        "loss_changes": [0.0] * count,
        "parents": _parents(lefts, rights),
        "right_children": rights,
        "split_conditions": conditions,
        "split_indices": features,
        "split_type": [0] * count,
        "sum_hessian": [1.0] * count,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(columns),
            "num_nodes": str(count),
            "size_leaf_vector": "1",
        },
    }


def _parents(lefts: Sequence[int], rights: Sequence[int]) -> list[int]:
    """Return the parent of each node; raise BadTrees unless all nodes form one tree."""
    parents = [ROOT] * len(lefts)
    for place, pair in enumerate(zip(lefts, rights, strict=True)):
        if pair == (-1, -1):
            continue
        for child in pair:
            if not place < child < len(lefts) or parents[child] != ROOT:
                raise BadTrees("a child is a later node, and has one parent")
            parents[child] = place
    if parents.count(ROOT) != 1:
        raise BadTrees("a tree has one root")
    return parents


def _xgboost_model(
    trees: Sequence[Mapping[str, Any]], columns: int, objective: str, score: float
) -> dict[str, Any]:
    return {
        "learner": {
            "attributes": {},
            "feature_names": [],
            "feature_types": [],
            "gradient_booster": {
                "model": {
                    "cats": {"enc": [], "feature_segments": [], "sorted_idx": []},
                    "gbtree_model_param": {
                        "num_parallel_tree": "1",
                        "num_trees": str(len(trees)),
                    },
                    "iteration_indptr": list(range(len(trees) + 1)),
                    "tree_info": [0] * len(trees),
                    "trees": list(trees),
                },
                "name": "gbtree",
            },
            "learner_model_param": {
                "base_score": f"[{score!r}]",
                "boost_from_average": "1",
                "num_class": "0",
                "num_feature": str(columns),
                "num_target": "1",
            },
            "objective": {"name": objective, "reg_loss_param": {"scale_pos_weight": "1"}},
        },
        "version": [3, 2, 0],
    }


def _columns(text: Any, more: int) -> int:
    """Return the number of features, from the text of that number less ``more``."""
    if not isinstance(text, str) or not text.isdecimal() or len(text) > len(str(MOST_COLUMNS)):
        raise BadTrees("the number of features is missing or malformed")
    columns = int(text) + more
    if not 0 < columns <= MOST_COLUMNS:
        raise BadTrees(f"trees of {columns:,} features; up to {MOST_COLUMNS:,} are read")
    return columns


def _listed(values: Any, kind: type) -> list[Any]:
    """Return a list of numbers; Booleans count as integers, as XGBoost has written both."""
    if not isinstance(values, list) or not all(isinstance(v, (int, float)) for v in values):
        raise BadTrees("a tree has lists of numbers")
    if kind is int and not all(float(value).is_integer() for value in values):
        raise BadTrees("a node is a whole number")
    return [kind(value) for value in values]


def _check_numbers(values: Sequence[float]) -> None:
    if not all(map(math.isfinite, values)):
        raise BadTrees("thresholds and leaves are finite numbers")
