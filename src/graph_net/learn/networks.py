"""Neural networks that score programs from rows of features: TenSet's MLP, an LSTM, attention.

Each takes the rows of all programs of a batch, one after another, and how many each program has.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

MOST_ROWS = 256
"""Rows of a program that attention looks at: the longest schedule's primitives are fewer."""


class Residual(nn.Module):
    """A layer whose result is added to what it was given."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, values: Tensor) -> Tensor:
        return values + torch.relu(self.layer(values))


class SegmentSumNetwork(nn.Module):
    """TenSet's MLP: each row encoded, summed over a program, two residual layers, a score."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.head = nn.Sequential(Residual(width), Residual(width), nn.Linear(width, 1))

    def forward(self, rows: Tensor, sizes: Tensor) -> Tensor:
        encoded = self.encoder(rows)
        owners = torch.repeat_interleave(torch.arange(len(sizes), device=rows.device), sizes)
        summed = encoded.new_zeros(len(sizes), encoded.shape[1]).index_add(0, owners, encoded)
        return torch.as_tensor(self.head(summed)).squeeze(1)


class LstmNetwork(nn.Module):
    """The same encoder, and an LSTM over a program's rows in their order."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(features, width), nn.ReLU())
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Sequential(Residual(width), nn.Linear(width, 1))

    def forward(self, rows: Tensor, sizes: Tensor) -> Tensor:
        padded = pad_sequence(list(self.encoder(rows).split(sizes.tolist())), batch_first=True)
        states, _ = self.lstm(padded)
        last = states[torch.arange(len(sizes), device=rows.device), sizes - 1]
        return torch.as_tensor(self.head(last)).squeeze(1)


class AttentionNetwork(nn.Module):
    """TLP's: attention between a program's rows, such as the primitives of its schedule."""

    def __init__(self, features: int, width: int, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.encoder = nn.Linear(features, width)
        self.positions = nn.Parameter(torch.zeros(MOST_ROWS, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.attention = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Sequential(Residual(width), nn.Linear(width, 1))

    def forward(self, rows: Tensor, sizes: Tensor) -> Tensor:
        sequences = [piece[:MOST_ROWS] for piece in self.encoder(rows).split(sizes.tolist())]
        padded = pad_sequence(sequences, batch_first=True)
        length = padded.shape[1]
        absent = torch.arange(length, device=rows.device) >= sizes.clamp(max=MOST_ROWS)[:, None]
        states = self.attention(padded + self.positions[:length], src_key_padding_mask=absent)
        summed = states.masked_fill(absent[:, :, None], 0.0).sum(dim=1)
        return torch.as_tensor(self.head(summed)).squeeze(1)
