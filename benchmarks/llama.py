"""A Llama in plain torch: rotary positions, grouped heads, gated layers, root-mean-square norms."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

VOCABULARY = 32_000
KEY_HEADS = 8


class Norm(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * scaled.to(x.dtype)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Attention(nn.Module):
    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.size, self.heads = hidden // heads, heads
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key = nn.Linear(hidden, KEY_HEADS * self.size, bias=False)
        self.value = nn.Linear(hidden, KEY_HEADS * self.size, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query = self.query(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        key = self.key(x).view(batch, length, KEY_HEADS, self.size).transpose(1, 2)
        value = self.value(x).view(batch, length, KEY_HEADS, self.size).transpose(1, 2)
        found = functional.scaled_dot_product_attention(
            rotated(query, cos, sin), rotated(key, cos, sin), value, is_causal=True, enable_gqa=True
        )
        joined: Tensor = self.out(found.transpose(1, 2).reshape(batch, length, -1))
        return joined


class Layer(nn.Module):
    def __init__(self, hidden: int, heads: int, inner: int) -> None:
        super().__init__()
        self.before, self.after = Norm(hidden), Norm(hidden)
        self.attention = Attention(hidden, heads)
        self.gate = nn.Linear(hidden, inner, bias=False)
        self.up = nn.Linear(hidden, inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attention(self.before(x), cos, sin)
        y = self.after(x)
        z: Tensor = x + self.down(functional.silu(self.gate(y)) * self.up(y))
        return z


class Llama(nn.Module):
    """A decoder with a head for the next word."""

    def __init__(self, hidden: int, layers: int, heads: int, inner: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, hidden)
        self.layers = nn.ModuleList(Layer(hidden, heads, inner) for _ in range(layers))
        self.norm = Norm(hidden)
        self.head = nn.Linear(hidden, VOCABULARY, bias=False)
        size = hidden // heads
        self.register_buffer("rates", 10_000.0 ** -(torch.arange(0, size, 2) / size))

    def forward(self, words: Tensor) -> Tensor:
        places = torch.arange(words.shape[1])[:, None] * self.rates  # type: ignore[operator]
        angles = torch.cat((places, places), -1)
        x = self.embed(words)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin())
        y: Tensor = self.head(self.norm(x))
        return y
