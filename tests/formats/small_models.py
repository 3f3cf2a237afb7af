"""Models for constructs that ``graph_net.testing.models`` has not, small and in plain torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graph_net.testing.models import CASES, Decoder, ResidualNet, UNet

CUDA = 'device(type="cuda", index=0)'


class Attention(nn.Module):
    """An encoder layer around scaled_dot_product_attention, without a mask."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.mlp = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        x = x + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        out: Tensor = x + self.mlp(x)
        return out


class Gpt(nn.Module):
    """Learned positions from arange, and a causal mask of minus infinity."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(40, 32), nn.Embedding(16, 32)
        self.qkv = nn.Linear(32, 96)

    def forward(self, ids: Tensor) -> Tensor:
        length = ids.shape[-1]
        x = self.words(ids) + self.places(torch.arange(length, device=ids.device)[None])
        q, k, v = self.qkv(x).split(32, dim=-1)
        mask = torch.full((length, length), float("-inf"), device=ids.device).triu(1)
        scores = q @ k.transpose(-2, -1) / 32**0.5 + mask
        attended: Tensor = scores.softmax(-1) @ v
        return attended.masked_fill(ids[..., None] == 0, -float("inf"))


class Routed(nn.Module):
    """A mixture of experts that gathers its tokens with index_add_."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(16, 4, bias=False)
        self.experts = nn.Parameter(torch.randn(4, 16, 16))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weights, chosen = torch.topk(self.router(x).softmax(-1), k=2, dim=-1)
        load = F.one_hot(chosen, num_classes=4).sum(dim=(0, 1))
        tokens = torch.arange(x.shape[0]).repeat_interleave(2)
        done = torch.einsum("td,tdf->tf", x[tokens], self.experts[chosen.flatten()])
        out = torch.zeros_like(x)
        out.index_add_(0, tokens, done * weights.reshape(-1, 1))
        return out, load


class Rotary(nn.Module):
    """Rotary positions as complex numbers from a stored buffer."""

    turns: Tensor

    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(6.0), torch.tensor([1.0, 0.1, 0.01, 0.001]))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x: Tensor) -> Tensor:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turned = pairs * self.turns + (0.5 - 2j)
        return torch.view_as_real(turned).flatten(-2).type_as(x)


class Changes(nn.Module):
    """Views, in-place methods, in-place operators and writes into slices, all aliased."""

    def forward(self, x: Tensor, ids: Tensor) -> tuple[Tensor, ...]:
        y = x.clone()
        first, rest = y[0], y[1:]
        first += 1
        rest *= 2.0
        rest -= first
        y[:, 1::2] = 0
        y[..., -1] /= 3
        y[ids > 2] = -1.0
        y.view(-1)[3] = 7.0
        y.add_(x).clamp_(min=-5.0).masked_fill_(y > 4, 0.25)
        z = ids.clone()
        z <<= 1
        z |= 1
        z ^= ids
        z %= 5
        z //= 2
        z.scatter_(0, torch.tensor([0, 1]), 9)
        return y, first, rest, z


class Sizes(nn.Module):
    """Arithmetic and comparisons on sizes that vary."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Any, ...]:
        batch, length, width = x.shape
        missing = (4 - length % 4) % 4
        padded = F.pad(x, (0, 0, 0, missing))
        blocks = padded.view(batch, (length + missing) // 4, 4, width)
        half = length // 2 if length >= 3 else length
        scale = width**-0.5
        near = blocks.flatten(1, 2)[:, :half] * scale
        grid = torch.ones(batch * 2, max(length - 3, 1), dtype=x.dtype)
        return near, grid, y.expand(batch, -1) + length, length * 2 + y.shape[-1]


class ReadsNumbers(nn.Module):
    """Numbers read out of buffers that are stored literally."""

    steps: Tensor
    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.tensor([2, 4, 6]))
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        size = int(self.steps[1].item())
        torch._check(size >= 1)  # type: ignore[no-untyped-call]
        torch._check(size <= 6)  # type: ignore[no-untyped-call]
        return torch.zeros(size) + self.scale.item(), x[:, :size] * size


class Autocast(nn.Module):
    """A region that computes in bfloat16."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            inside: Tensor = self.linear(x)
        outside: Tensor = self.linear(x)
        return inside.float() + outside


class Breaks(nn.Module):
    """Two graphs in one model."""

    def forward(self, x: Tensor) -> Tensor:
        y = torch.sin(x) * 2
        torch._dynamo.graph_break()
        return torch.cos(y)


class Half(nn.Module):
    """A normalised net in float16, on a device named in its source."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16), nn.LayerNorm(16))

    def forward(self, x: Tensor) -> Tensor:
        here = torch.linspace(0, 1, 16, device=x.device, dtype=torch.float16)
        out: Tensor = self.net(x.to(device=x.device, dtype=torch.float16))
        return out + here.to(x.device)


@dataclass(frozen=True, slots=True)
class Small:
    """A model, what to call it with, and how to capture it."""

    build: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Any, ...]]
    training: bool = False
    dynamic: bool = False
    device_text: str | None = None


def _ids(*shape: int) -> Tensor:
    return torch.randint(0, 40, shape)


SMALL: dict[str, Small] = {
    **{case.name: Small(case.build, case.inputs, case.training) for case in CASES},
    "attention": Small(Attention, lambda: (torch.randn(2, 6, 32),)),
    "gpt": Small(Gpt, lambda: (_ids(1, 8),)),
    "gpt_cuda": Small(Gpt, lambda: (_ids(1, 8),), device_text=CUDA),
    "routed": Small(Routed, lambda: (torch.randn(5, 16),)),
    "rotary": Small(Rotary, lambda: (torch.randn(2, 6, 8),)),
    "changes": Small(Changes, lambda: (torch.randn(4, 5), torch.tensor([1, 2, 3, 4]))),
    "sizes": Small(Sizes, lambda: (torch.randn(2, 7, 12), torch.randn(1, 5)), dynamic=True),
    "dynamic_decoder": Small(Decoder, lambda: (_ids(2, 9),), dynamic=True),
    "dynamic_unet": Small(UNet, lambda: (torch.randn(2, 3, 18, 20),), dynamic=True),
    "residual_training": Small(ResidualNet, lambda: (torch.randn(2, 3, 32, 32),), training=True),
    "reads_numbers": Small(ReadsNumbers, lambda: (torch.randn(2, 6),)),
    "autocast": Small(Autocast, lambda: (torch.randn(3, 16),)),
    "breaks": Small(Breaks, lambda: (torch.randn(3, 30),)),
    "half_cuda": Small(lambda: Half().half(), lambda: (torch.randn(3, 16),), device_text=CUDA),
}
