"""A cost model that adapts to a task in a forward pass; measured programs are its context."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from graph_net.compilers.option import Option
from graph_net.learn.adapting import split_by_task
from graph_net.learn.cost_model import CostModel, Domain
from graph_net.learn.in_context_episodes import (
    ABSENT,
    Episode,
    Episodes,
    EpisodeShape,
    join_by_dialect,
    rows_of,
)
from graph_net.learn.in_context_files import read_tensors, write_tensors
from graph_net.learn.in_context_network import (
    DialectEncoder,
    DialectSize,
    EncodedPrograms,
    InContextNetwork,
    MeasuredPrograms,
)
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.losses import LOSSES
from graph_net.learn.metrics import Floats, Ints
from graph_net.results.codec import read_as
from graph_net.store.atomic import write_text
from graph_net.store.files import read_text

PART, DIALECTS = "weights.safetensors", "dialects.json"
MOST_BYTES = 16 << 20
SCORED_AT_ONCE = 4096
PRIOR = "prior.score"
"""A column with the score of another model, as log(best / cost), which is added to the base."""
LEAST_LABEL = 1e-3
"""Labels below this, and failures, all count as equally bad."""
WARM_UP = 0.05
"""Fraction of all steps in which the learning rate grows."""


@dataclass(frozen=True)
class DialectDomains:
    """The domain of each dialect that was learned from."""

    domains: tuple[Domain, ...]


class InContext(CostModel):
    """A set transformer; ``predict`` ranks with nothing measured, ``predict_given`` with some."""

    name = "in_context"
    needs = "safetensors"
    options: ClassVar[dict[str, Option]] = {
        "loss": Option("lambdarank", tuple(LOSSES)),
        "regression": Option(1.0, least=0.0, most=100.0),
        "steps": Option(4000, least=1, most=10_000_000),
        "rate": Option(1e-3, least=1e-6, most=0.1),
        "decay": Option(0.01, least=0.0, most=1.0),
        "dropout": Option(0.05, least=0.0, most=0.9),
        "width": Option(96, least=8, most=2048),
        "heads": Option(4, least=1, most=64),
        "layers": Option(2, least=1, most=32),
        "bins": Option(8, least=1, most=64),
        "tasks_of_episode": Option(16, least=1, most=4096),
        "measured_of_task": Option(64, least=1, most=4096),
        "ranked_of_task": Option(32, least=2, most=4096),
        "threads": Option(0, least=0, most=1024),
    }

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        """Train on the tasks of one set; ``held_out`` is unused: weights are averaged instead."""
        self.fit_sets([data])

    def fit_sets(self, sets: Sequence[LearningSet]) -> None:
        """Train on sets of one dialect or several; the domain is that of the first dialect."""
        torch.manual_seed(self.seed)
        joined = join_by_dialect(sets)
        self._domains = [Domain.of(data) for data in joined]
        self._module = self._make()
        for encoder, data in zip(self._module.dialects, joined, strict=True):
            assert isinstance(encoder, DialectEncoder)
            encoder.standardise(data.rows)
        with self._threads():
            self._train(joined)
        self.domain = self._domains[0]

    def predict(self, data: LearningSet) -> Floats:
        return self.predict_given(data, np.zeros(0, np.int64))

    def predict_given(self, data: LearningSet, measured: Ints) -> Floats:
        """Return scores of all programs; only the costs of ``measured`` are read."""
        self.learned()
        self._dialect(data)
        self._module.eval()
        scores = np.zeros(len(data))
        with self._threads(), torch.inference_mode():
            for asked, known in split_by_task(data, measured):
                context = self._context(data, known)
                for start in range(0, asked.size, SCORED_AT_ONCE):
                    part = asked[start : start + SCORED_AT_ONCE]
                    encoded = self._encode(data, part).gather(torch.arange(part.size)[None])
                    scores[part] = self._module(context, encoded)[0].cpu().numpy()
        return scores

    def save_parts(self, folder: Path) -> None:
        self.learned()
        write_tensors(folder / PART, self._module.state_dict())
        described = asdict(DialectDomains(tuple(self._domains)))
        write_text(folder / DIALECTS, json.dumps(described, indent=1) + "\n")

    def load_parts(self, folder: Path) -> None:
        try:
            text = read_text(folder / DIALECTS, MOST_BYTES)
            self._domains = list(read_as(DialectDomains, text, "list of dialects").domains)
            self._module = self._make()
            self._module.load_state_dict(read_tensors(folder / PART))
        except OSError as error:
            raise LearnError(f"{folder} lacks {PART} or {DIALECTS}") from error
        except (ValueError, RuntimeError, TypeError) as error:
            raise LearnError(f"{folder} does not fit a model {self.name}: {error}") from error

    def _make(self) -> InContextNetwork:
        sizes = [DialectSize(len(d.columns), _prior_of(d.columns)) for d in self._domains]
        width, heads = int(self._number("width")), int(self._number("heads"))
        if width % heads:
            raise LearnError(f"the width, {width}, is not a multiple of the heads, {heads}")
        network = InContextNetwork(
            sizes,
            width,
            heads,
            int(self._number("layers")),
            int(self._number("bins")),
            float(self._number("dropout")),
        )
        return network.to("cuda" if torch.cuda.is_available() else "cpu")

    def _train(self, sets: Sequence[LearningSet]) -> None:
        steps = int(self._number("steps"))
        optimizer = torch.optim.AdamW(
            self._module.parameters(),
            lr=float(self._number("rate")),
            weight_decay=float(self._number("decay")),
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps))
        keep = min(0.999, 1 - 10 / (steps + 10))
        averaged = AveragedModel(self._module, avg_fn=lambda mean, new, _: mean.lerp(new, 1 - keep))
        self._module.train()
        for episode in Episodes(sets, self._shape(), self.seed).draw(steps):
            optimizer.zero_grad()
            torch.autograd.backward(self._loss(sets[episode.set_index], episode))
            nn.utils.clip_grad_norm_(self._module.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            averaged.update_parameters(self._module)
        self._module.load_state_dict(averaged.module.state_dict())

    def _loss(self, data: LearningSet, episode: Episode) -> Tensor:
        programs = self._encode(data, episode.programs)
        labels = self._tensor(np.maximum(data.programs.labels[episode.programs], LEAST_LABEL))
        costs = self._tensor(np.log(data.programs.costs[episode.programs]))
        known, asked = self._tensor(episode.measured), self._tensor(episode.ranked)
        measured = _measured(programs, costs, known)
        mask, asked = asked != ABSENT, asked.clamp(min=0)
        encoded = programs.gather(asked)
        scores = self._module(measured, encoded)
        loss = LOSSES[str(self.settings["loss"])](scores, labels[asked], mask)
        logs = labels[asked].log()
        missed = _centred_error(scores, logs, mask) + _centred_error(encoded.base, logs, mask)
        return loss + float(self._number("regression")) * missed

    def _context(self, data: LearningSet, known: Ints) -> MeasuredPrograms:
        """Return a task's measured programs; the fastest, if more than in training."""
        costs = data.programs.costs[known]
        known = known[np.argsort(costs, kind="stable")[: int(self._number("measured_of_task"))]]
        programs = self._encode(data, known if known.size else np.zeros(1, np.int64))
        places = np.arange(known.size) if known.size else np.full(1, ABSENT)
        logs = np.log(data.programs.costs[known]) if known.size else np.zeros(1)
        return _measured(programs, self._tensor(logs), self._tensor(places[None]))

    def _encode(self, data: LearningSet, programs: Ints) -> EncodedPrograms:
        rows, sizes = rows_of(data, programs)
        return self._module.encode(self._dialect(data), self._tensor(rows), self._tensor(sizes))

    def _tensor(self, values: np.ndarray) -> Tensor:
        device = self._module.nothing.device
        found = torch.from_numpy(values)
        return (found.float() if found.is_floating_point() else found).to(device)

    def _dialect(self, data: LearningSet) -> int:
        """Return the dialect of a set; raise LearnError if it is unknown."""
        for index, domain in enumerate(self._domains):
            if domain.columns == data.columns:
                return index
        self._domains[0].check_columns(data)
        raise AssertionError("unreachable")

    def _shape(self) -> EpisodeShape:
        names = "tasks_of_episode measured_of_task ranked_of_task".split()
        return EpisodeShape(*(int(self._number(name)) for name in names))

    def _number(self, key: str) -> float:
        value = self.settings[key]
        assert isinstance(value, (int, float))
        return value

    @contextmanager
    def _threads(self) -> Iterator[None]:
        before = torch.get_num_threads()
        torch.set_num_threads(int(self._number("threads")) or before)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def _measured(programs: EncodedPrograms, costs: Tensor, places: Tensor) -> MeasuredPrograms:
    present, index = places != ABSENT, places.clamp(min=0)
    return MeasuredPrograms(
        programs.gather(index), torch.where(present, costs[index], 0.0), present
    )


def _centred_error(scores: Tensor, logs: Tensor, mask: Tensor) -> Tensor:
    """Return the mean squared error of scores, up to a constant per task."""
    difference = torch.where(mask, scores - logs, 0.0)
    mean = difference.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return ((difference - mean)[mask] ** 2).mean()


def _rate(step: int, steps: int) -> float:
    """Return the learning-rate factor at a step: a warm-up, then half a cosine."""
    warm = max(1, int(WARM_UP * steps))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + float(np.cos(np.pi * (step - warm) / max(1, steps - warm))))


def _prior_of(columns: Sequence[str]) -> int | None:
    return columns.index(PRIOR) if PRIOR in columns else None
