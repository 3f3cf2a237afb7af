"""Cost models that are neural networks, trained on batches of whole tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from graph_net.compilers.option import Option
from graph_net.learn.cost_model import CostModel, Domain
from graph_net.learn.learning_set import Features, LearnError, LearningSet
from graph_net.learn.losses import LOSSES
from graph_net.learn.metrics import Floats, Ints, best_over_picked
from graph_net.learn.networks import RowAttention, RowLstm, ScoreNetwork, SegmentSum
from graph_net.store.files import read_bytes

PART = "weights.safetensors"
MOST_BYTES = 1 << 30
SCORED_AT_ONCE = 4096
SMALL = 1 << 22
"""Numbers per step up to which threads cost more than they save, above all on a busy machine."""
MEAN, DEVIATION = "features.mean", "features.deviation"
CONSTANT = 1e-6
"""Standard deviation up to which a feature counts as constant."""
FARTHEST = 8.0
"""Standard deviations at which features are clipped: networks do not extrapolate."""


@dataclass(frozen=True)
class _Batch:
    """Some programs of some tasks; each row of ``labels`` and ``mask`` is a task."""

    rows: Tensor
    sizes: Tensor
    labels: Tensor
    mask: Tensor


class _Neural(CostModel):
    """Training, saving and loading, shared by all networks."""

    needs = "safetensors"
    options: ClassVar[dict[str, Option]] = {
        "loss": Option("pairwise", tuple(LOSSES)),
        "epochs": Option(50, least=1, most=10_000),
        "width": Option(128, least=8, most=2048),
        "rate": Option(7e-4, least=1e-6, most=0.1),
        "decay": Option(1e-6, least=0.0, most=1.0),
        "tasks_of_batch": Option(16, least=1, most=4096),
        "programs_of_task": Option(32, least=2, most=4096),
    }
    encoder: ClassVar[type[nn.Module]]

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        """Train; with ``held_out``, keep the epoch that picks best from it."""
        with few_threads(data.rows.size):
            self._fit(data, held_out)

    def _fit(self, data: LearningSet, held_out: LearningSet | None) -> None:
        torch.manual_seed(self.seed)
        generator = np.random.default_rng(self.seed)
        self._module = self._make(len(data.columns))
        self._mean, self._deviation = self._prepare(data)
        self.domain = Domain.of(data)
        optimizer = torch.optim.Adam(
            self._module.parameters(),
            lr=float(self.number("rate")),
            weight_decay=float(self.number("decay")),
        )
        epochs = int(self.number("epochs"))
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
        loss = LOSSES[str(self.settings["loss"])]
        best, kept = -1.0, None
        for _ in range(epochs):
            self._module.train()
            for batch in self._batches(data, generator):
                scores = torch.zeros_like(batch.labels)
                scores[batch.mask] = self._module(batch.rows, batch.sizes)
                optimizer.zero_grad()
                torch.autograd.backward(loss(scores, batch.labels, batch.mask))
                nn.utils.clip_grad_norm_(self._module.parameters(), 5.0)
                optimizer.step()
            schedule.step()
            if held_out is not None:
                picked = float(best_over_picked(held_out.programs, self.predict(held_out)).mean())
                if picked > best:
                    best = picked
                    kept = {key: value.clone() for key, value in self._module.state_dict().items()}
        if kept is not None:
            self._module.load_state_dict(kept)

    def _prepare(self, data: LearningSet) -> tuple[Features, Features]:
        """Return the mean and scale of each feature; a constant feature is only shifted."""
        mean = data.rows.mean(axis=0, dtype=np.float64)
        deviation = data.rows.std(axis=0, dtype=np.float64)
        deviation[deviation < CONSTANT] = 1.0
        return mean.astype(np.float32), deviation.astype(np.float32)

    def predict(self, data: LearningSet) -> Floats:
        self.learned().check_columns(data)
        self._module.eval()
        parts = []
        with few_threads(data.rows.size), torch.inference_mode():
            for start in range(0, len(data), SCORED_AT_ONCE):
                programs = np.arange(start, min(start + SCORED_AT_ONCE, len(data)))
                parts.append(self._module(*self._rows(data, programs)).cpu().numpy())
        return np.concatenate(parts).astype(np.float64)

    def save_parts(self, folder: Path) -> None:
        from safetensors.torch import save_file

        tensors = {key: value.cpu() for key, value in self._module.state_dict().items()}
        tensors[MEAN] = torch.from_numpy(self._mean)
        tensors[DEVIATION] = torch.from_numpy(self._deviation)
        save_file(tensors, folder / PART)

    def load_parts(self, folder: Path) -> None:
        from safetensors import SafetensorError
        from safetensors.torch import load

        try:
            tensors = load(read_bytes(folder / PART, MOST_BYTES))
            self._mean, self._deviation = tensors.pop(MEAN).numpy(), tensors.pop(DEVIATION).numpy()
            self._module = self._make(len(self._mean))
            self._module.load_state_dict(tensors)
        except OSError as error:
            raise LearnError(f"{folder} has no {PART}") from error
        except (SafetensorError, KeyError, RuntimeError, TypeError) as error:
            raise LearnError(f"{folder / PART} does not fit a model {self.name}") from error

    def _make(self, features: int) -> nn.Module:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        make, width = cast(Callable[[int, int], nn.Module], self.encoder), int(self.number("width"))
        return ScoreNetwork(make(features, width), width).to(device)

    def _rows(self, data: LearningSet, programs: Ints) -> tuple[Tensor, Tensor]:
        """Return the standardised rows of programs and the row counts, on the model's device."""
        sizes = np.diff(data.starts)[programs]
        ends = np.cumsum(sizes)
        index = np.repeat(data.starts[programs] - ends + sizes, sizes) + np.arange(ends[-1])
        rows = (data.rows[index] - self._mean) / self._deviation
        np.clip(rows, -FARTHEST, FARTHEST, out=rows)
        device = next(self._module.parameters()).device
        return torch.from_numpy(rows).to(device), torch.from_numpy(sizes).to(device)

    def _batches(self, data: LearningSet, generator: np.random.Generator) -> Iterator[_Batch]:
        """Yield an epoch: as many programs as the set has, from tasks in random order."""
        groups = [rows for rows in data.programs.rows() if rows.size > 1]
        if not groups:
            raise LearnError("no task has two programs: there is nothing to rank")
        tasks, each = int(self.number("tasks_of_batch")), int(self.number("programs_of_task"))
        rounds = max(1, round(len(data) / (len(groups) * each)))
        for _ in range(rounds):
            order = generator.permutation(len(groups))
            for start in range(0, len(order), tasks):
                chosen = [
                    generator.permutation(groups[index])[:each]
                    for index in order[start : start + tasks]
                ]
                yield self._batch(data, chosen)

    def _batch(self, data: LearningSet, chosen: list[Ints]) -> _Batch:
        rows, sizes = self._rows(data, np.concatenate(chosen))
        widest = max(programs.size for programs in chosen)
        labels = np.zeros((len(chosen), widest), np.float32)
        mask = np.zeros(labels.shape, bool)
        for row, programs in enumerate(chosen):
            labels[row, : programs.size] = data.programs.labels[programs]
            mask[row, : programs.size] = True
        return _Batch(
            rows,
            sizes,
            torch.from_numpy(labels).to(rows.device),
            torch.from_numpy(mask).to(rows.device),
        )


@contextmanager
def few_threads(numbers: int) -> Iterator[None]:
    """Compute on one thread if there are few numbers to compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if numbers < SMALL else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Mlp(_Neural):
    """TenSet's network: rows encoded and summed."""

    name = "mlp"
    encoder = SegmentSum


class LstmModel(_Neural):
    """An LSTM over rows."""

    name = "lstm"
    encoder = RowLstm


class AttentionModel(_Neural):
    """Attention between rows, as TLP has over primitives."""

    name = "attention"
    encoder: ClassVar[type[nn.Module]] = RowAttention
    options: ClassVar[dict[str, Option]] = {
        **_Neural.options,
        "width": Option(64, least=8, most=2048),
    }
