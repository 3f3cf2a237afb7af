"""Learn which programs are fast, and tell how well a model does."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graph_net.learn.cost_model import CostModel
    from graph_net.learn.evaluation import Evaluation, ModelComparison
    from graph_net.learn.measured_set import MeasuredSet
    from graph_net.learn.training_note import TrainingNote

PER_TASK = 4096


@dataclass(frozen=True)
class LearnedModel:
    """A model, how it came about, and its scores on what was held out (None if nothing was)."""

    model: CostModel
    note: TrainingNote
    evaluation: Evaluation | None

    def save(self, folder: str | Path) -> None:
        """Save the model into a new folder, with how it came about and its card."""
        from graph_net.learn.cost_model import save_model
        from graph_net.learn.training_note import CARD, FILE, model_card, note_text

        card = model_card(self.model, self.note, self.evaluation)
        save_model(self.model, Path(folder), {FILE: note_text(self.note), CARD: card})


@dataclass(frozen=True)
class JudgedModel:
    """The scores of a model, against another if one was given, and why to doubt them."""

    evaluation: Evaluation
    comparison: ModelComparison | None
    split: str
    doubts: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON; a number that is not finite is null."""
        tree: dict[str, Any] = _finite(asdict(self))
        return tree


def learn(
    data: str | Path,
    model: str | CostModel = "lightgbm",
    *,
    split: str = "network",
    features: str = "auto",
    seed: int = 0,
    output: str | Path | None = None,
    per_task: int = PER_TASK,
    cache: str | Path | None = None,
    validation: float = 0.0,
    command: str = "",
    progress: Display | bool = True,
) -> LearnedModel:
    """Learn from measured programs, and score the model on what the split holds out.

    ``data`` is a directory of records, a data set of several platforms, the name of a platform of
    GraphNet's own, or TpuGraphs' files (one, or a folder). ``model`` is a name with options
    (``"lightgbm[rounds=300]"``) or a model of your own. ``output`` is a new folder to save it to,
    with its card. ``validation`` is a part of the training tasks that decides when to stop, for
    models that take long to train.
    """
    from graph_net.learn.cost_model import check_new
    from graph_net.learn.evaluation import evaluate_model

    if output is not None:
        check_new(Path(output))
    source, display = data_path(data), display_of(progress)
    chosen = model_of(model, seed)
    train, test = split_sides(source, split, features, per_task, cache, display.tell)
    display.tell(describe_set("learning from", train))
    _fit(chosen, train, validation)
    told = command or f"gn.learn({str(data)!r}, {chosen.name!r}, split={split!r}, seed={seed})"
    note = _note(source, chosen, train, split, per_task, told)
    evaluation = None
    if test is not None:
        _warn(display, chosen.learned().objections(test.data))
        evaluation = evaluate_model(chosen, test, note.scale)
    learned = LearnedModel(chosen, note, evaluation)
    if output is not None:
        learned.save(output)
    return learned


def evaluate(
    model: str | Path | LearnedModel | CostModel,
    data: str | Path,
    *,
    against: str | Path | LearnedModel | CostModel | None = None,
    split: str | None = None,
    features: str | None = None,
    cache: str | Path | None = None,
    progress: Display | bool = True,
) -> JudgedModel:
    """Return the scores of a model on data, and how it compares with a second one.

    Without ``split`` they are of what was held out, if these are the data that the model has
    learned from; of other data they are of all programs (``"none"``).
    """
    from graph_net.learn.evaluation import compare_scores, evaluate_scores
    from graph_net.learn.training_note import data_digest

    source, display = data_path(data), display_of(progress)
    judged, note = _with_note(model)
    other = None if against is None else _with_note(against)[0]
    chosen = split or (note.split if note and note.digest == data_digest(source) else "none")
    kind = features or (note.features if note else "auto")
    per_task = note.per_task if note else PER_TASK
    train, test = split_sides(source, chosen, kind, per_task, cache, display.tell)
    measured = train if test is None else test
    display.tell(describe_set("judging on", measured))
    doubts = [*judged.learned().objections(measured.data), *_known(note, chosen, measured)]
    _warn(display, doubts)
    scores = judged.predict(measured.data)
    comparison = None
    if other is not None:
        comparison = compare_scores(measured.data, scores, other.predict(measured.data))
    evaluation = evaluate_scores(measured, scores, note.scale if note else None)
    return JudgedModel(evaluation, comparison, chosen, tuple(doubts))


def load_model(folder: str | Path) -> CostModel:
    """Return the model that ``learn`` saved into a folder; nothing in it is executed."""
    from graph_net.learn.model_registry import load_model as load

    return load(Path(folder))


def model_of(model: str | CostModel, seed: int = 0) -> CostModel:
    """Return the model of ``lightgbm[objective=lambdarank,rounds=300]``, or the one given."""
    from graph_net.learn.model_registry import model_from_text

    return model_from_text(model, seed) if isinstance(model, str) else model


def data_path(data: str | Path) -> Path:
    """Return a file or directory, or a platform of the shipped data set by its name."""
    from graph_net.api.programs import programs

    return Path(data) if Path(data).exists() else programs(data).path


def describe_set(what: str, measured: MeasuredSet) -> str:
    """Return how large a set is, in a line."""
    data = measured.data
    names = ", ".join(sorted({task.platform for task in data.tasks}))
    return (
        f"{what} {len(data):,} programs of {len(data.tasks):,} tasks on {names}, "
        f"{len(data.columns)} features ({measured.features})"
    )


def split_sides(
    source: Path,
    split: str,
    features: str,
    per_task: int,
    cache: str | Path | None,
    tell: Callable[[str], None],
) -> tuple[MeasuredSet, MeasuredSet | None]:
    """Return what to learn from and what to judge on; all and None without a split."""
    from graph_net.learn.config_split import split_configs
    from graph_net.learn.read_configs import has_configs, read_configs
    from graph_net.learn.read_set import read_set
    from graph_net.learn.set_split import NONE, ChosenSplit, split_set, splits_at

    if has_configs(source):
        configs = read_configs(source, features, per_task=per_task, tell=tell)
        return (configs, None) if split == NONE else split_configs(configs, split)
    chosen = None if split == NONE else ChosenSplit.parse(split)
    folder = None if cache is None else Path(cache)
    measured = read_set(source, features, per_task=per_task, cache=folder, tell=tell)
    return (measured, None) if chosen is None else split_set(measured, splits_at(source), chosen)


def _note(
    source: Path, model: CostModel, train: MeasuredSet, split: str, per_task: int, command: str
) -> TrainingNote:
    from graph_net.learn.label_scale import LabelScale
    from graph_net.learn.training_note import (
        TrainingNote,
        data_digest,
        hash_graphs,
        library_versions,
    )

    return TrainingNote(
        source.resolve().name,
        data_digest(source),
        split,
        train.features,
        per_task,
        model.seed,
        command,
        library_versions(),
        LabelScale.fit(train.data.programs, model.predict(train.data)),
        hash_graphs(train.data.tasks),
    )


def _known(note: TrainingNote | None, split: str, measured: MeasuredSet) -> list[str]:
    """Return a doubt where tasks were learned from, unless that is the split's question."""
    from graph_net.learn.set_split import NONE

    same = note is not None and split == note.split != NONE
    if note is None or (same and (split == "within_task" or _keeps_graphs(measured, split))):
        return []
    known, tasks = note.count_known(measured.data.tasks), len(measured.data.tasks)
    return [f"{known:,} of {tasks:,} tasks compute what it has learned from"] if known else []


def _keeps_graphs(measured: MeasuredSet, split: str) -> bool:
    from graph_net.learn.set_split import ChosenSplit

    return not measured.data.ranks_configs and ChosenSplit.parse(split).keeps_graphs


def _warn(display: Display, doubts: Sequence[str]) -> None:
    for doubt in doubts:
        display.tell(f"warning: {doubt}")


def _fit(model: CostModel, train: MeasuredSet, validation: float) -> None:
    from graph_net.learn.set_split import part_of_tasks

    if not validation:
        model.fit(train.data)
        return
    rest, aside = part_of_tasks(train, validation)
    model.fit(rest.data, aside.data)


def _with_note(
    model: str | Path | LearnedModel | CostModel,
) -> tuple[CostModel, TrainingNote | None]:
    from graph_net.learn.training_note import read_note

    if isinstance(model, LearnedModel):
        return model.model, model.note
    if isinstance(model, str | Path):
        return load_model(model), read_note(Path(model))
    return model, None


def _finite(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {str(key): _finite(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_finite(value) for value in tree]
    return None if isinstance(tree, float) and not math.isfinite(tree) else tree
