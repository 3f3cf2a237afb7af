"""What a model was trained on and how it scored, stored beside it as JSON and as a card."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version

from graph_net.learn.cost_model import CostModel
from graph_net.learn.evaluation import Evaluation, MetricScore
from graph_net.learn.label_scale import LabelScale
from graph_net.learn.learning_set import LearnError, LearningTask
from graph_net.learn.read_configs import configs_digest, has_configs
from graph_net.learn.record_folders import record_folders
from graph_net.printable import printable
from graph_net.programs.dataset.dataset import files
from graph_net.results.codec import read_as
from graph_net.store.files import open_regular, read_text

FILE = "training.json"
CARD = "README.md"
MOST_BYTES = 64 << 20
TOGETHER = (
    " They depend on which programs of a task are asked about together: ask about all that are to "
    "be chosen from in one call."
)
LIBRARIES = ("numpy", "torch", "lightgbm", "xgboost", "xgboost-cpu")


@dataclass(frozen=True)
class TrainingNote:
    """How a model was trained."""

    data: str
    """Name of the data's location."""
    digest: str
    """Digest of the data's files."""
    split: str
    features: str
    per_task: int
    seed: int
    command: str
    versions: dict[str, str]
    scale: LabelScale = field(repr=False)
    graphs: tuple[str, ...] = field(repr=False)
    """Short hashes of the training graphs."""

    def count_known(self, tasks: Iterable[LearningTask]) -> int:
        """Return how many tasks compute the same as a task that the model learned from."""
        known = frozenset(self.graphs)
        return sum(short_hash(task) in known for task in tasks)


def short_hash(task: LearningTask) -> str:
    """Return a short hash of what a task computes."""
    return sha256((task.graph or task.name).encode()).hexdigest()[:12]


def hash_graphs(tasks: Iterable[LearningTask]) -> tuple[str, ...]:
    """Return the short hashes of what tasks compute, each once."""
    return tuple(sorted({short_hash(task) for task in tasks}))


def data_digest(source: Path) -> str:
    """Return a hash of the tables of programs and tasks of a source, by content."""
    if has_configs(source):
        return configs_digest(source)
    state = sha256()
    for name, folder in sorted(record_folders(source).items()):
        for table, parts in files(folder).items():
            for part in parts if table != "subgraphs" else ():
                state.update(f"{name}/{part.name}\n".encode())
                with open_regular(part) as file:
                    while block := file.read(1 << 20):
                        state.update(block)
    return state.hexdigest()


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that affect training."""
    found = {"python": python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def note_text(note: TrainingNote) -> str:
    """Return a note as JSON."""
    return json.dumps(asdict(note), indent=1) + "\n"


def read_note(folder: Path) -> TrainingNote | None:
    """Return how a saved model was trained; None if there is no note."""
    try:
        return read_as(TrainingNote, read_text(folder / FILE, MOST_BYTES), "training note")
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise LearnError(f"{folder / FILE}: {error}") from error


def model_card(model: CostModel, note: TrainingNote, evaluation: Evaluation | None) -> str:
    """Return the card of a model, in Markdown."""
    domain = model.learned()
    platforms = printable(", ".join(domain.platforms))
    settings = ", ".join(f"{key} = {value}" for key, value in model.settings.items())
    lines = [
        f"# Cost model: {model.name}",
        "",
        f"Ranks the programs of a task from {len(domain.columns)} features (`{note.features}`). "
        "A higher score is a faster program; scores compare within a task only."
        + (TOGETHER if model.ranks_together else ""),
        "",
        f"    {note.command}",
        "",
        "| | |",
        "|---|---|",
        f"| model | {model.name} ({settings}) |",
        f"| data | {note.data}, sha256 {note.digest[:16]}… |",
        f"| learned from | {domain.programs:,} programs of {domain.tasks:,} tasks |",
        f"| split | {note.split} |",
        f"| programs of a task | at most {note.per_task:,} |",
        f"| seed | {note.seed} |",
        f"| versions | {', '.join(f'{name} {text}' for name, text in note.versions.items())} |",
        "",
        "## Domain",
        "",
        f"Operators: {', '.join(domain.kinds)}. Platforms: {platforms}. Asked about anything else, "
        "or beyond the values it has learned from, it says so: its scores are guesses there.",
        "",
        "## Scores",
        "",
    ]
    return "\n".join([*lines, *_scores(evaluation)]) + "\n"


def _scores(evaluation: Evaluation | None) -> list[str]:
    if evaluation is None:
        return ["None: nothing was held out. `graph-net evaluate` tells them on other data."]
    intro = (
        f"On {evaluation.programs:,} programs of {evaluation.tasks:,} tasks that were held out; a "
        f"pooled score rests on {evaluation.effective_tasks:.1f} effective tasks. Intervals of "
        "95 % over tasks. The ceiling is what measuring every program again would get, from "
        f"{evaluation.pairs:,} programs that were measured twice."
    )
    head = ["metric", "model", "95 %", "random", "best", "ceiling"]
    rows = [_cells(score) for score in evaluation.scores]
    by_kind = [
        [f"{one.kind} ({one.tasks:,}), {cells[0]}", *cells[1:]]
        for one in evaluation.kinds
        for cells in map(_cells, one.scores)
    ]
    return [intro, "", *_table(head, rows), "", *_table(["operator (tasks)", *head[1:]], by_kind)]


def _cells(score: MetricScore) -> list[str]:
    ceiling = "not measured" if score.ceiling is None else f"{score.ceiling:.3f}"
    numbers = [f"{score.random:.3f}", f"{score.best:.3f}", ceiling]
    return [score.metric, f"{score.value:.3f}", score.interval, *numbers]


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
