"""Neural networks that score programs from rows of features: TenSet's MLP, an LSTM, attention.

Each takes the concatenated rows of a batch of programs, and the number of rows per program. An
encoder turns a program's rows into one vector; the head, shared by all, turns the vector into a
score.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

MOST_ROWS = 256
"""Most rows per program that attention uses; the longest schedules have fewer primitives."""


class Residual(nn.Module):
    """A layer with a residual connection."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, values: Tensor) -> Tensor:
        return values + torch.relu(self.layer(values))


class ScoreNetwork(nn.Module):
    """An encoder of programs, two residual layers, a score."""

    def __init__(self, encoder: nn.Module, width: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(Residual(width), Residual(width), nn.Linear(width, 1))

    def forward(self, rows: Tensor, sizes: Tensor) -> Tensor:
        return torch.as_tensor(self.head(self.encoder(rows, sizes))).squeeze(1)


class SegmentSum(nn.Module):
    """TenSet's MLP: each row encoded by itself, then summed per program."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )

    def forward(self, rows: Tensor, sizes: Tensor) -> Tensor:
        encoded: Tensor = self.layers(rows)
        summed = encoded.new_zeros(len(sizes), encoded.shape[1])
        return summed.index_add(0, owners_of(sizes), encoded)


class RowLstm(nn.Module):
    """The last state of an LSTM over a program's rows in order."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, width), nn.ReLU())
        self.lstm = nn.LSTM(width, width, batch_first=True)

    def forward(self, rows: Tensor, sizes: Tensor) -> Tensor:
        states, _ = self.lstm(pad_rows(self.layers(rows), sizes))
        return torch.as_tensor(states[torch.arange(len(sizes), device=rows.device), sizes - 1])


class RowAttention(nn.Module):
    """TLP's encoder: attention between a program's rows, such as schedule primitives."""

    def __init__(self, features: int, width: int, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.layer = nn.Linear(features, width)
        self.positions = nn.Parameter(torch.zeros(MOST_ROWS, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.attention = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, rows: Tensor, sizes: Tensor) -> Tensor:
        padded = pad_rows(self.layer(rows), sizes)[:, :MOST_ROWS]
        length = padded.shape[1]
        # A program without rows gets one of zeros: attention over nothing is NaN.
        absent = torch.arange(length, device=rows.device) >= sizes.clamp(min=1)[:, None]
        states = self.attention(padded + self.positions[:length], src_key_padding_mask=absent)
        return torch.as_tensor(states.masked_fill(absent[:, :, None], 0.0).sum(dim=1))


class JoinedRows(nn.Module):
    """PaCM's encoder: statements summed, primitives through attention, both concatenated.

    ``is_store`` selects the feature that is 1 in rows of statements and 0 in rows of primitives.
    """

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.register_buffer("is_store", torch.zeros(features))
        self.stores = SegmentSum(features, width)
        self.steps = RowAttention(features, width)
        self.join = nn.Linear(2 * width, width)

    def forward(self, rows: Tensor, sizes: Tensor) -> Tensor:
        chosen = rows @ torch.as_tensor(self.is_store) > 0.5
        stores = torch.zeros_like(sizes).index_add(0, owners_of(sizes), chosen.long())
        parts = (self.stores(rows[chosen], stores), self.steps(rows[~chosen], sizes - stores))
        return torch.relu(self.join(torch.cat(parts, dim=1)))


def owners_of(sizes: Tensor) -> Tensor:
    """Return the program of each row."""
    return torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)


def pad_rows(rows: Tensor, sizes: Tensor) -> Tensor:
    """Return rows as (programs, most rows of one, features), zero-padded."""
    owners = owners_of(sizes)
    places = torch.arange(len(rows), device=rows.device) - (sizes.cumsum(0) - sizes)[owners]
    longest = max(1, int(sizes.max()))
    return rows.new_zeros(len(sizes), longest, rows.shape[1]).index_put((owners, places), rows)
