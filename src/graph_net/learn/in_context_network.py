"""A set transformer that scores the programs of a task, given its measured programs.

A dialect is a tuple of feature columns. Each dialect has its own encoder into the common width; the
rest is shared. Measured programs attend to each other; programs to be scored attend to them and
never to each other. No token has a position, so the order of the measured programs has no effect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from graph_net.learn.learning_set import Features

FARTHEST = 4.0
"""Largest distance of a log cost from the measured median; failures get this value."""
UNKNOWN = 1e9
"""The scale of a column that never varied."""
PLACE = 16
"""Width of the vectors that measure the distance between programs."""
FACTS = 5
"""Extra numbers of a measured program besides its features."""


@dataclass(frozen=True)
class DialectSize:
    """How many columns a dialect has, and which of them is another model's score."""

    columns: int
    prior: int | None = None


@dataclass(frozen=True)
class EncodedPrograms:
    """Programs as vectors, and their scores without measurements; any leading axes."""

    states: Tensor
    base: Tensor

    def gather(self, index: Tensor) -> EncodedPrograms:
        """Return the programs at these positions, in the shape of ``index``."""
        return EncodedPrograms(self.states[index], self.base[index])


@dataclass(frozen=True)
class MeasuredPrograms:
    """The measured programs of tasks, one task per row, at least one column wide."""

    programs: EncodedPrograms
    log_costs: Tensor
    """Infinite for a failure."""
    present: Tensor
    """False where a row is padded."""

    @property
    def ran(self) -> Tensor:
        """Whether an entry is a program that did not fail."""
        return self.present & self.log_costs.isfinite()

    def residuals(self) -> Tensor:
        """Return the part of each cost that the base score leaves unexplained; mean 0 per task."""
        ran = self.ran
        difference = torch.where(ran, -self.relative() - self.programs.base, 0.0)
        mean = difference.sum(1, keepdim=True) / ran.sum(1, keepdim=True).clamp(min=1)
        return torch.where(ran, difference - mean, 0.0)

    def relative(self) -> Tensor:
        """Return log(cost / median of the measured), clipped."""
        values = torch.where(self.ran, self.log_costs, math.nan)
        median = values.nanmedian(dim=1, keepdim=True).values.nan_to_num(0.0)
        bounded = (self.log_costs - median).clamp(-FARTHEST, FARTHEST)
        return torch.where(self.present, bounded, 0.0)

    def facts(self) -> Tensor:
        """Return the extra numbers of each program besides its features."""
        failed = self.log_costs.isinf().float()
        count = self.present.sum(1, keepdim=True).float().log1p().expand_as(failed)
        columns = [self.relative(), self.residuals(), self.programs.base, failed, count]
        return torch.stack(columns, dim=2)


class DialectEncoder(nn.Module):
    """Encodes the rows of programs as vectors: each row encoded, then summed per program.

    A number is given as its standardised value and as the fraction of each of ``bins`` intervals
    that lies below it. Trees split at thresholds; this gives a linear layer the same thresholds.
    """

    def __init__(self, size: DialectSize, bins: int, width: int) -> None:
        super().__init__()
        self.prior = size.prior
        self.register_buffer("mean", torch.zeros(size.columns))
        self.register_buffer("deviation", torch.ones(size.columns))
        self.register_buffer("edges", torch.zeros(size.columns, bins + 1))
        self.layer = nn.Linear(size.columns * (bins + 1), width)

    def standardise(self, rows: Features) -> None:
        """Take the scale of each column from the training rows."""
        bins = self.get_buffer("edges").shape[1] - 1
        scale = {
            "mean": rows.mean(axis=0, dtype=np.float64),
            "deviation": np.where(np.ptp(rows, axis=0) > 0, rows.std(axis=0), UNKNOWN),
            "edges": np.stack([_edges(column, bins) for column in rows.T]),
        }
        for name, values in scale.items():
            self.get_buffer(name).copy_(torch.from_numpy(values))

    def forward(self, rows: Tensor, sizes: Tensor) -> Tensor:
        encoded = torch.relu(self.layer(self._numbers(rows)))
        owners = torch.repeat_interleave(torch.arange(len(sizes), device=rows.device), sizes)
        return encoded.new_zeros(len(sizes), encoded.shape[1]).index_add(0, owners, encoded)

    def _numbers(self, rows: Tensor) -> Tensor:
        edges = self.get_buffer("edges")
        standard = (rows - self.get_buffer("mean")) / self.get_buffer("deviation")
        widths = (edges[:, 1:] - edges[:, :-1]).clamp(min=1e-6)
        parts = ((rows[:, :, None] - edges[:, :-1]) / widths).clamp(0, 1)
        return torch.cat([standard.clamp(-10, 10), parts.flatten(1)], dim=1)


class Feedforward(nn.Module):
    """Two layers with a residual connection."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, 2 * width),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(2 * width, width),
        )

    def forward(self, states: Tensor) -> Tensor:
        return states + torch.as_tensor(self.layers(states))


class AttentionBlock(nn.Module):
    """Attention of some states to others, then a feedforward layer."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.norm_of_given = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.feedforward = Feedforward(width, dropout)

    def forward(self, states: Tensor, given: Tensor, absent: Tensor) -> Tensor:
        keys = self.norm_of_given(given)
        found, _ = self.attention(
            self.norm(states), keys, keys, key_padding_mask=absent, need_weights=False
        )
        return torch.as_tensor(self.feedforward(states + found))


class InContextNetwork(nn.Module):
    """Scores programs: a base score of the program alone, and a correction from measured programs.

    The score is the base, plus a Gaussian process in a learned space through the base's errors on
    measured programs, plus the output of attention to measured programs. With nothing measured, a
    dedicated token receives all attention.
    """

    def __init__(
        self,
        dialects: Sequence[DialectSize],
        width: int,
        heads: int,
        layers: int,
        bins: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.dialects = nn.ModuleList(DialectEncoder(size, bins, width) for size in dialects)
        self.body = nn.Sequential(*(Feedforward(width, dropout) for _ in range(layers + 1)))
        self.base = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1))
        self.facts = nn.Linear(FACTS, width)
        self.nothing = nn.Parameter(torch.zeros(width))
        self.of_context = nn.ModuleList(
            AttentionBlock(width, heads, dropout) for _ in range(layers)
        )
        self.of_queries = nn.ModuleList(
            AttentionBlock(width, heads, dropout) for _ in range(layers)
        )
        self.place = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, PLACE))
        self.narrowness = nn.Parameter(torch.zeros(()))
        self.noise = nn.Parameter(torch.tensor(math.log(0.1)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1))

    def encode(self, dialect: int, rows: Tensor, sizes: Tensor) -> EncodedPrograms:
        """Return the programs of these rows; ``sizes`` has the number of rows per program."""
        encoder = self.dialects[dialect]
        assert isinstance(encoder, DialectEncoder)
        states = self.body(encoder(rows, sizes))
        base = torch.as_tensor(self.base(states)).squeeze(-1)
        if encoder.prior is not None:
            first = sizes.cumsum(0) - sizes
            base = base + rows[first, encoder.prior]
        return EncodedPrograms(states, base)

    def forward(self, measured: MeasuredPrograms, asked: EncodedPrograms) -> Tensor:
        """Return the scores of programs of shape (tasks, programs), given the measured ones."""
        tokens = measured.programs.states + self.facts(measured.facts())
        nothing = self.nothing.expand(len(tokens), 1, -1)
        context = torch.cat([nothing, tokens], dim=1)
        absent = torch.cat([measured.present.new_zeros(len(tokens), 1), ~measured.present], dim=1)
        for block in self.of_context:
            context = block(context, context, absent)
        states = asked.states
        for block in self.of_queries:
            states = block(states, context, absent)
        rest = torch.as_tensor(self.head(states)).squeeze(-1)
        return asked.base + self._smoothed(measured, asked) + rest

    def _smoothed(self, measured: MeasuredPrograms, asked: EncodedPrograms) -> Tensor:
        """Return the mean of a Gaussian process through the residuals of programs that ran.

        Its kernel uses learned distances between programs, and its noise is learned.
        """
        given, wanted = self.place(measured.programs.states), self.place(asked.states)
        both = measured.ran[:, :, None] & measured.ran[:, None]
        inner = torch.where(both, self._kernel(given, given), 0.0)
        noise = self.noise.exp() * torch.eye(inner.shape[1], device=inner.device)
        outer = torch.where(measured.ran[:, None], self._kernel(wanted, given), 0.0)
        weights = torch.linalg.solve(inner + noise, measured.residuals()[:, :, None])
        return torch.as_tensor(outer @ weights).squeeze(-1)

    def _kernel(self, one: Tensor, other: Tensor) -> Tensor:
        return torch.exp(-torch.cdist(one, other).square() * self.narrowness.exp() / one.shape[-1])


def _edges(column: Features, bins: int) -> Features:
    """Return the edges of ``bins`` intervals: a column's values if they are few, else quantiles.

    Unused intervals have no width. A column that never varied teaches nothing: its interval is so
    wide that another value has no effect either.
    """
    distinct = np.unique(column)
    if distinct.size == 1:
        return np.linspace(distinct[0], distinct[0] + UNKNOWN, bins + 1, dtype=np.float32)
    if distinct.size <= bins + 1:
        return np.pad(distinct, (0, bins + 1 - distinct.size), mode="edge")
    return np.quantile(column, np.linspace(0, 1, bins + 1)).astype(np.float32)
