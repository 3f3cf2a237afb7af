"""Answer a question about learning with many small trainings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.cluster.connection import Cluster
    from graph_net.learn.studies.run import StudyOutcome
    from graph_net.learn.studies.study import Study, StudyData


def study(
    name: str,
    data: str | Path,
    *,
    spaces: str | Path | None = None,
    split: str = "network",
    features: str = "auto",
    models: Sequence[str] = (),
    seeds: int = 3,
    jobs: int = 0,
    work: str | Path = "build/studies",
    output: str | Path | None = None,
    cache: str | Path | None = None,
    command: str = "",
    cluster: Cluster | str | None = None,
    progress: Display | bool = True,
) -> StudyOutcome:
    """Do the trainings of a study that ``work`` does not hold yet; write its page to ``output``.

    ``spaces`` are programs of tasks of which every program was measured, or layouts of other graphs
    to judge on. ``models`` are those that ``architectures`` compares, instead of all. With a
    ``cluster`` its nodes do the trainings.
    """
    from graph_net.api.study_layouts import about_layouts, read_study_layouts
    from graph_net.cluster.connection import pools
    from graph_net.learn.learning_set import LearnError
    from graph_net.learn.studies.run import (
        LAYOUT_STUDIES,
        STUDIES,
        StudyJournal,
        run_study,
        write_page,
    )

    if name not in STUDIES and name not in LAYOUT_STUDIES:
        names = ", ".join([*STUDIES, *LAYOUT_STUDIES])
        raise LearnError(f"unknown study {name!r}; available: {names}")
    display, numbers = display_of(progress), range(seeds)
    chosen: Study[Any]
    sets: Any
    if name in LAYOUT_STUDIES:
        chosen = _with_models(LAYOUT_STUDIES[name](), models)
        sets, digest = read_study_layouts(name, Path(data), Path(spaces) if spaces else None)
        about = about_layouts(sets, seeds)
    else:
        chosen = _with_models(STUDIES[name](), models)
        sets, digest = _read(data, spaces, split, features, cache, display)
        digest, about = f"{digest} {split} {features}", _about(sets, seeds)
    journal = StudyJournal(Path(work) / f"{name}.jsonl", digest)
    wanted = chosen.cells(sets, numbers)
    missing = sum(journal.key(settings) not in journal.done for settings in wanted)
    with (
        pools(cluster, jobs) as (make_pool, several),
        display.progress("trainings", missing) as advance,
    ):
        outcome = run_study(
            chosen, sets, journal, seeds=numbers, jobs=several, advance=advance, make_pool=make_pool
        )
    for why in outcome.failures:
        display.tell(f"failed: {why}")
    if output is not None:
        page = write_page(chosen, outcome, Path(output), command, about)
        display.tell(f"{page}: the table, and the picture beside it")
    return outcome


def _with_models(study: Study[Any], models: Sequence[str]) -> Study[Any]:
    """Return a study of these models, with the one that they are held against; () for its own."""
    from graph_net.learn.learning_set import LearnError
    from graph_net.learn.model_registry import model_from_text
    from graph_net.learn.studies.architectures import BASELINE, Architectures

    if not models:
        return study
    if not isinstance(study, Architectures):
        raise LearnError(f"the study {study.name} has models of its own: give none")
    for model in models:
        model_from_text(model)
    study.models = tuple(dict.fromkeys([BASELINE, *models]))
    return study


def _read(
    data: str | Path,
    spaces: str | Path | None,
    split: str,
    features: str,
    cache: str | Path | None,
    display: Display,
) -> tuple[StudyData, str]:
    from graph_net.api.learn import PER_TASK, data_path, split_sides
    from graph_net.learn.learning_set import LearnError
    from graph_net.learn.read_set import read_set
    from graph_net.learn.studies.study import StudyData
    from graph_net.learn.training_note import data_digest

    source = data_path(data)
    train, test = split_sides(source, split, features, PER_TASK, cache, display.tell)
    if test is None:
        raise LearnError("a study needs a split: tasks to learn from, and others to judge on")
    digest = data_digest(source)
    if spaces is None:
        return StudyData(train, test), digest
    whole = data_path(spaces)
    measured = read_set(whole, features, per_task=1 << 30, tell=display.tell)
    known = {task.graph for task in train.data.tasks}
    if any(task.graph in known for task in measured.data.tasks):
        raise LearnError(f"{spaces} has tasks that are learned from: choose others, or a split")
    return StudyData(train, test, measured), f"{digest} {data_digest(whole)}"


def _about(data: StudyData, seeds: int) -> str:
    train, test = data.train.data, data.test.data
    return (
        f"Learned from {len(train):,} programs of {len(train.tasks):,} tasks, judged on "
        f"{len(test):,} of {len(test.tasks):,} others; {seeds} seeds, mean and deviation."
    )
