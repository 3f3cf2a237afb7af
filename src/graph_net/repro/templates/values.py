"""Values by counter: the same on every machine."""

import base64
import math
import statistics
import zlib
from functools import cache
from typing import Any

import torch

BLOCK = 1024  # words of 64 random bits that are made together
CHUNK = 256  # blocks that are drawn at a time


def signed(word: int) -> int:
    word &= 2**64 - 1
    return word - 2**64 if word >> 63 else word


def random_words(key: int, gamma: int, block: int, blocks: int) -> torch.Tensor:
    """Return random words: word i is a hash (splitmix64) of key + i * gamma."""
    count = torch.arange(blocks * BLOCK, dtype=torch.int64)
    word = count * signed(gamma) + signed(key + block * BLOCK * gamma)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        word = (word ^ ((word >> shift) & (2**64 - 1 >> shift))) * signed(factor)
    return word


@cache
def normal_quantiles() -> torch.Tensor:
    """Return 65,536 equally likely values that stand for a normal variable."""
    quantile = statistics.NormalDist().inv_cdf
    lower = [round(quantile((lane + 0.5) / 65536) * 2**20) for lane in range(32768)]
    whole = torch.tensor([*lower, *(-value for value in reversed(lower))], dtype=torch.float32)
    return whole / 2**20


def normal(words: torch.Tensor, mean: float, std: float) -> torch.Tensor:
    lanes = words.view(torch.int16).to(torch.int64) & 0xFFFF
    parts = (normal_quantiles() * (std * math.sqrt(0.5)))[lanes].reshape(-1, 2, 2 * BLOCK)
    first, second = parts[:, 0] + mean, parts[:, 1]
    return torch.stack([first + second, first - second], 1).reshape(-1)


def lanes_32(words: torch.Tensor) -> torch.Tensor:
    return words.view(torch.int32).to(torch.int64) & 0xFFFFFFFF


def uniform(words: torch.Tensor, low: float, step: float) -> torch.Tensor:
    return (lanes_32(words) >> 8).to(torch.float32) * step + low


def integers(words: torch.Tensor, low: int, count: int) -> torch.Tensor:
    return (lanes_32(words) * count >> 32) + low


def wide_integers(words: torch.Tensor, low: int, count: int) -> torch.Tensor:
    if count >= 2**64:
        return words + signed(low)
    mask = 0xFFFFFFFF
    word_low, word_high = words & mask, (words >> 32) & mask
    middle = word_high * (count & mask) + ((word_low * (count & mask) >> 32) & mask)
    other = word_low * (count >> 32) + (middle & mask)
    high = word_high * (count >> 32) + ((middle >> 32) & mask) + ((other >> 32) & mask)
    return high + signed(low)


def chances(words: torch.Tensor, p: float) -> torch.Tensor:
    return lanes_32(words) < round(p * 2**32)


KINDS = {"normal": normal, "uniform": uniform, "integers": integers,
         "wide_integers": wide_integers, "chances": chances}  # fmt: skip


def draw(
    kind: str,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    key: int,
    gamma: int,
    whole: bool = False,
    bounds: tuple[float, float] | None = None,
    **parameters: Any,
) -> torch.Tensor:
    """Return a tensor of random values, the same ones every time."""
    real = dtype.to_real() if dtype.is_complex else dtype
    count = math.prod(shape) * (2 if dtype.is_complex else 1)
    out = torch.empty(count, dtype=real)
    begin = block = 0
    blocks = min(CHUNK, 1 + count // BLOCK)
    while begin < count:
        values = KINDS[kind](random_words(key, gamma, block, blocks), **parameters)  # type: ignore[operator]
        values = values.round() if whole else values
        values = values.clamp(*bounds) if bounds else values
        values = values[: count - begin]
        out[begin : begin + len(values)] = values
        begin, block = begin + len(values), block + blocks
    return (torch.view_as_complex(out.reshape(-1, 2)) if dtype.is_complex else out).reshape(shape)


def packed(text: str, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return a tensor whose exact values are in the text."""
    raw = bytearray(zlib.decompress(base64.b64decode(text)))
    return torch.frombuffer(raw, dtype=torch.uint8).view(dtype).reshape(shape)


def laid_out(tensor: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """Return the same values with these strides; a stride of 0 repeats one value."""
    distinct = tensor[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)]
    result = torch.empty_strided(distinct.shape, strides, dtype=tensor.dtype)
    return result.copy_(distinct).expand(tensor.shape)
