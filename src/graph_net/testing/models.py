"""Small models of every family, in plain torch, and their graphs.

They replace a model zoo where none is installed: residual and dense convolution nets, encoders,
decoders, recurrent nets, mixtures of experts, graphs that mutate, draw random numbers, compute on
sizes and read values back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

from graph_net.graph import Graph, GraphError, Provenance
from graph_net.graph.fx import from_fx


class ResidualBlock(nn.Module):
    """Two convolutions around a shortcut that is added in place."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out = self.activation(self.norm(self.first(x)))
        out = self.second(out)
        out += x
        result: Tensor = self.activation(out)
        return result


class ResidualNet(nn.Module):
    """An image classifier of residual blocks."""

    def __init__(self, blocks: int = 2, width: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7, stride=2, padding=3)
        self.blocks = nn.Sequential(*(ResidualBlock(width) for _ in range(blocks)))
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
        pooled = torch.flatten(F.adaptive_avg_pool2d(self.blocks(x), 1), 1)
        result: Tensor = self.head(pooled)
        return result


class DecoderLayer(nn.Module):
    """Attention with rotary positions and a gated feed-forward net."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.after = nn.RMSNorm(width)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.before(x)).chunk(3, dim=-1)
        q, k, v = (
            t.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for t in (q, k, v)
        )
        q, k = (t * cos + _rotate_half(t) * sin for t in (q, k))
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        hidden = self.after(x)
        result: Tensor = x + self.down(F.silu(self.gate(hidden)) * self.up(hidden))
        return result


def _rotate_half(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class Decoder(nn.Module):
    """A causal language model: embeddings, rotary decoder layers, logits."""

    frequencies: Tensor

    def __init__(self, layers: int = 2, width: int = 32, heads: int = 4, words: int = 50) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        steps = torch.arange(0, width // heads, 2).float() / (width // heads)
        self.register_buffer("frequencies", 10_000.0**-steps)

    def forward(self, ids: Tensor) -> Tensor:
        length = ids.shape[1]
        positions = torch.arange(length, device=ids.device)
        angles = positions[:, None].float() * self.frequencies[None, :]
        angles = torch.cat((angles, angles), dim=-1)
        mask = positions[None, :] <= positions[:, None]
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype), mask)
        return F.linear(self.norm(x), self.embed.weight)


class Encoder(nn.Module):
    """torch's own encoder layers, with dropout drawn when training."""

    def __init__(self, layers: int = 2, width: int = 32) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.encoder(x)
        return result


class UNet(nn.Module):
    """Down, up, and a skip connection."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(4, 2 * width)
        self.leave = nn.Conv2d(3 * width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        skip = F.gelu(self.enter(x))
        deep = F.silu(self.norm(self.down(skip)))
        deep = F.interpolate(deep, size=skip.shape[-2:], mode="bilinear", align_corners=False)
        return torch.sigmoid(self.leave(torch.cat([skip, deep], dim=1)))


class Recurrent(nn.Module):
    """An LSTM with a head on its last state."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        states, (hidden, _) = self.lstm(x)
        return {"states": states, "classes": self.head(hidden[-1]).softmax(-1)}


class Experts(nn.Module):
    """A router that sends each token to two of four experts."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.router = nn.Linear(width, 4)
        self.weights = nn.Parameter(torch.randn(4, width, width) / 4)

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.router(x).softmax(-1).topk(2, dim=-1)
        every = torch.einsum("td,edf->tef", x, self.weights)
        picked = torch.gather(every, 1, chosen[..., None].expand(-1, -1, x.shape[-1]))
        counts = F.one_hot(chosen, 4).sum((0, 1))
        result: Tensor = (picked * weights[..., None]).sum(1) + counts.float().mean()
        return result


class Windows(nn.Module):
    """Shifted windows with a mask that is written in place."""

    def forward(self, x: Tensor) -> Tensor:
        shifted = torch.roll(x, shifts=(-2, -2), dims=(1, 2))
        mask = x.new_zeros(8, 8)
        mask[:4, :] = 1
        mask[4:, 4:] = 2
        windows = shifted.view(1, 2, 4, 2, 4, -1).permute(0, 1, 3, 2, 4, 5).reshape(4, 16, -1)
        near = mask.view(2, 4, 2, 4).permute(0, 2, 1, 3).reshape(4, 16)
        bias = (near[:, None] != near[:, :, None]).float().masked_fill_(near[:, None] == 1, -100.0)
        return (windows @ windows.transpose(1, 2) + bias).softmax(-1) @ windows


class Spectrum(nn.Module):
    """Fourier mixing and complex rotation."""

    def forward(self, x: Tensor) -> Tensor:
        mixed = torch.fft.fftn(x, dim=(-2, -1)).real
        pairs = torch.view_as_complex(mixed.reshape(*x.shape[:-1], -1, 2).contiguous())
        turned = pairs * torch.polar(torch.ones_like(pairs.real), pairs.real.tanh())
        return torch.view_as_real(turned).flatten(-2)


class ReadsValues(nn.Module):
    """Reads a number out of a stored buffer and uses it as a size and in a branch."""

    window: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.tensor([3, 5]))

    def forward(self, x: Tensor) -> Tensor:
        size = int(self.window.max().item())
        torch._check(size >= 1)  # type: ignore[no-untyped-call]
        torch._check(size <= 8)  # type: ignore[no-untyped-call]
        return x[:, :size] * size + torch.ones(size)


class Noisy(nn.Module):
    """Draws random numbers."""

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, 0.5, True) + torch.rand_like(x) + torch.randn(x.shape[-1])


@dataclass(frozen=True, slots=True)
class Case:
    """A model and the inputs to call it with."""

    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Any, ...]]
    category: str = "other"
    training: bool = False


CASES: tuple[Case, ...] = (
    Case("residual", ResidualNet, lambda: (torch.randn(1, 3, 32, 32),), "computer_vision"),
    Case("unet", UNet, lambda: (torch.randn(1, 3, 16, 16),), "computer_vision"),
    Case("windows", Windows, lambda: (torch.randn(1, 8, 8, 12),), "computer_vision"),
    Case("decoder", Decoder, lambda: (torch.randint(0, 50, (1, 12)),), "nlp"),
    Case("encoder", Encoder, lambda: (torch.randn(2, 6, 32),), "nlp"),
    Case("encoder_training", Encoder, lambda: (torch.randn(2, 6, 32),), "nlp", True),
    Case("recurrent", Recurrent, lambda: (torch.randn(2, 5, 8),), "audio"),
    Case("experts", Experts, lambda: (torch.randn(6, 16),)),
    Case("spectrum", Spectrum, lambda: (torch.randn(1, 8, 16),), "scientific"),
    Case("reads_values", ReadsValues, lambda: (torch.randn(2, 8),)),
    Case("noisy", Noisy, lambda: (torch.randn(3, 70),)),
    Case(
        "half_decoder",
        lambda: Decoder().to(torch.bfloat16),
        lambda: (torch.randint(0, 50, (1, 12)),),
        "nlp",
    ),
)


def case(name: str) -> Case:
    """Return the case with this name."""
    return next(case for case in CASES if case.name == name)


def graph_of(model: nn.Module, inputs: tuple[Any, ...], name: str = "", **fields: str) -> Graph:
    """Return the level-``torch`` graph that Dynamo sees; raise if there is not exactly one."""
    graphs: list[Graph] = []

    def capture(module: fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
        provenance = Provenance(library="testing", model=name, **fields)  # type: ignore[arg-type]
        graphs.append(from_fx(module, examples, provenance=provenance))
        return module.forward

    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True, allow_rnn=True):
        torch.compile(model, backend=capture, dynamic=False)(*inputs)
    if len(graphs) != 1:
        raise GraphError(f"{name or type(model).__name__} breaks into {len(graphs)} graphs")
    return graphs[0]


def case_graph(name: str) -> Graph:
    """Return the graph of one case; the same weights every time."""
    chosen = case(name)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = chosen.build().train(chosen.training)
        return graph_of(model, chosen.inputs(), chosen.name, category=chosen.category)
