"""Run a study: its trainings in parallel, each once; then its table and its plot."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from graph_net.isolate import Limits, MakePool, Pool, WorkPool
from graph_net.learn.studies.architectures import Architectures
from graph_net.learn.studies.data_size import DataSize
from graph_net.learn.studies.few_shot_curves import FewShotCurves, LocalResidual
from graph_net.learn.studies.layout_balance import LayoutBalance
from graph_net.learn.studies.layout_folds import LayoutStudy
from graph_net.learn.studies.layout_models import LayoutModels
from graph_net.learn.studies.layout_questions import (
    LayoutAnalytical,
    LayoutCompilers,
    LayoutUnseen,
)
from graph_net.learn.studies.metric_choice import MetricChoice
from graph_net.learn.studies.platform_transfer import PlatformTransfer
from graph_net.learn.studies.study import Data, Settings, Study, StudyCell, StudyData
from graph_net.learn.studies.study_page import StudyPage
from graph_net.results import canonical, digest
from graph_net.results.canonical import plain
from graph_net.store.journal import LineJournal, whole_lines

STUDIES: dict[str, type[Study[StudyData]]] = {
    study.name: study
    for study in (
        Architectures, MetricChoice, DataSize, PlatformTransfer, LocalResidual, FewShotCurves,
        LayoutModels,
    )
}  # fmt: skip
LAYOUT_STUDIES: dict[str, type[LayoutStudy]] = {
    study.name: study for study in (LayoutBalance, LayoutAnalytical, LayoutUnseen, LayoutCompilers)
}
"""Studies of layouts that were measured here, with the calls they make."""
LIMITS = Limits(3600, None)
"""Limits of one training."""


@dataclass(frozen=True)
class StudyOutcome:
    """The cells of a study, and the reasons of those that failed."""

    cells: tuple[StudyCell, ...]
    failures: tuple[str, ...]


class StudyJournal:
    """The results of trainings, one per line; equal trainings on equal data are done once."""

    def __init__(self, path: Path, data: str) -> None:
        self.path, self.data = path, data
        self.done: dict[str, StudyCell] = {}
        for line in whole_lines(path) if path.exists() else ():
            with suppress(ValueError, KeyError, TypeError):  # skip lines that no study wrote
                tree = json.loads(line)
                cell = StudyCell(dict(tree["settings"]), dict(tree["result"]))
                if tree["data"] == data and tree["key"] == self.key(cell.settings):
                    self.done[tree["key"]] = cell

    def key(self, settings: Settings) -> str:
        """Return the key of a training."""
        return digest(self.data, canonical(dict(settings)))

    def add(self, cell: StudyCell) -> None:
        """Append a result."""
        key = self.key(cell.settings)
        self.done[key] = cell
        line = {"data": self.data, "key": key, **plain(cell)}
        with LineJournal(self.path) as journal:
            journal.append(canonical(line).encode())


def run_study(
    study: Study[Data],
    data: Data,
    journal: StudyJournal,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    jobs: int = 1,
    advance: Callable[[], None] = lambda: None,
    make_pool: MakePool = Pool,
) -> StudyOutcome:
    """Run the trainings that are not in the journal, and return all in order."""
    wanted = study.cells(data, seeds)
    missing = [settings for settings in wanted if journal.key(settings) not in journal.done]
    pool = make_pool(LIMITS, jobs)
    failures = list(_train(study, data, journal, missing, pool, advance))
    keys = [journal.key(settings) for settings in wanted]
    return StudyOutcome(tuple(journal.done[k] for k in keys if k in journal.done), tuple(failures))


def _train(
    study: Study[Data],
    data: Data,
    journal: StudyJournal,
    missing: Sequence[Settings],
    pool: WorkPool,
    advance: Callable[[], None],
) -> Iterator[str]:
    """Train in processes that may crash, and yield the failures."""
    for done in pool.each(missing, partial(_compute, study, data)):
        if done.death is None:
            journal.add(StudyCell(done.item, done.answer))
        else:
            yield f"{canonical(dict(done.item))}: {done.death.reason}"
        advance()


def _compute(study: Study[Data], data: Data, settings: Settings) -> dict[str, Any]:
    return dict(study.compute(data, settings))


def write_page(
    study: Study[Any], outcome: StudyOutcome, folder: Path, command: str, about: str
) -> Path:
    """Write the study's page and picture, and return the page."""
    left_out = "".join(f"- not computed: {why}\n" for why in outcome.failures)
    table = study.table(outcome.cells) + (f"\n\n{left_out}" if left_out else "")
    picture = study.picture(outcome.cells)
    page = StudyPage(study.title, f"{study.about}\n\n{about}", command, picture, table)
    return page.write(folder, study.name)
