"""What is collected: products, convolutions and rows out of networks that people use.

A workload that several networks have is one workload with all their names, so that holding a
network out means holding out everything that occurs in it. A network is called after its
architecture, its batch and its size, as TenSet's are; it yields a workload once for each call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graph_net.record import canonical
from graph_net.space.space import Workload
from graph_net.space.triton.space import workload_of

Module = dict[str, Any]
HELD_OUT = (
    "resnet50-1x224",
    "mobilenet_v2-1x224",
    "bert_base-1x128",
    "vit_l16-8x224",
    "llama3_8b-64x1",
)
"""Networks whose tasks no model is trained on: three of TenSet's that are here, and two more."""


@dataclass(frozen=True)
class Collected:
    """A workload, and the networks it comes from."""

    workload: Workload
    weights: Mapping[str, int]
    """How often each network calls it."""


def collected() -> list[Collected]:
    """All of them, each once, in a fixed order."""
    calls: dict[str, Counter[str]] = {}
    modules: dict[str, Module] = {}
    for network, module in _all():
        key = canonical(module)
        modules[key] = module
        calls.setdefault(key, Counter())[network] += 1
    return [Collected(workload_of(modules[key]), calls[key]) for key in modules]


def _all() -> Iterator[tuple[str, Module]]:
    half, brain = "float16", "bfloat16"
    for batch in (1, 16):
        yield from _named(f"resnet50-{batch}x224", _resnet50(batch, half))
    yield from _named("resnet18-32x224", _resnet18(32, half))
    yield from _named("mobilenet_v2-1x224", _mobilenet_v2(1, half, (0, 3, 7, 10)))
    yield from _named("mobilenet_v2-32x224", _mobilenet_v2(32, half, tuple(range(11))))
    for batch, dtype in ((1, half), (16, half), (4, "tf32")):
        yield from _named(f"bert_base-{batch}x128", _encoder(12, batch, 128, 768, 12, dtype))
    yield from _named("bert_large-8x384", _encoder(24, 8, 384, 1024, 16, brain))
    yield from _named("vit_b16-16x224", _vit(12, 16, 768, 12, half))
    yield from _named("vit_l16-8x224", _vit(24, 8, 1024, 16, brain))
    yield from _named("gpt2-4x1024", _gpt2(4, 1024, brain))
    yield from _named("llama_7b-1x2048", _llama(2048, 4096, 4096, 11008, half))
    yield from _named("llama_7b-16x1", _decode(16, 4096, 4096, 11008, half))
    yield from _named("llama3_8b-1x1024", _llama(1024, 4096, 1024, 14336, brain))
    yield from _named("llama3_8b-64x1", _decode(64, 4096, 1024, 14336, brain))
    yield from _named("stable_diffusion-2x64", _unet(2, half))


def _named(network: str, modules: Iterator[Module]) -> Iterator[tuple[str, Module]]:
    for module in modules:
        yield network, module


def linear(m: int, n: int, k: int, dtype: str, epilogue: str = "bias") -> Module:
    """A linear layer: its weight is N × K."""
    sizes = {"m": m, "n": n, "k": k}
    return {"kernel": "matmul", **sizes, "dtype": dtype, "epilogue": epilogue, "transposed": True}


def batched(b: int, m: int, n: int, k: int, dtype: str, transposed: bool) -> Module:
    """A product in each head: queries with keys (transposed), weights with values (not)."""
    sizes = {"b": b, "m": m, "n": n, "k": k}
    options = {"epilogue": "none", "transposed": transposed}
    return {"kernel": "batched_matmul", **sizes, "dtype": dtype, **options}


def conv(
    n: int, size: int, c: int, k: int, filter: int, dtype: str, epilogue: str, stride: int = 1
) -> Module:
    """A convolution of square images by square filters, padded to keep its size."""
    pad = 0 if filter == stride else filter // 2
    sizes = {"n": n, "h": size, "w": size, "c": c, "k": k, "r": filter, "s": filter}
    options = {"stride": stride, "pad": pad, "dtype": dtype, "epilogue": epilogue}
    return {"kernel": "convolution", **sizes, **options}


def along(kernel: str, rows: int, columns: int, dtype: str) -> Module:
    """An operator along rows."""
    dtype = "float32" if dtype == "tf32" else dtype
    return {"kernel": kernel, "rows": rows, "columns": columns, "dtype": dtype}


def _attention(b: int, heads: int, tokens: int, head: int, dtype: str) -> Iterator[Module]:
    yield batched(b * heads, tokens, tokens, head, dtype, True)
    yield along("softmax", b * heads * tokens, tokens, dtype)
    yield batched(b * heads, tokens, head, tokens, dtype, False)


def _encoder(
    layers: int, b: int, tokens: int, width: int, heads: int, dtype: str
) -> Iterator[Module]:
    m = b * tokens
    for _ in range(layers):
        yield linear(m, 3 * width, width, dtype)
        yield from _attention(b, heads, tokens, width // heads, dtype)
        yield linear(m, width, width, dtype, "bias_add")
        yield linear(m, 4 * width, width, dtype, "bias_gelu")
        yield linear(m, width, 4 * width, dtype, "bias_add")
        yield from [along("layer_norm", m, width, dtype)] * 2
    yield along("layer_norm", m, width, dtype)


def _vit(layers: int, b: int, width: int, heads: int, dtype: str) -> Iterator[Module]:
    yield conv(b, 224, 3, width, 16, dtype, "bias", 16)
    yield from _encoder(layers, b, 197, width, heads, dtype)
    yield linear(b, 1000, width, dtype)
    yield along("row_sum", b * 197, width, dtype)


def _gpt2(b: int, tokens: int, dtype: str) -> Iterator[Module]:
    """The words of one sequence after the other: their scores are large."""
    yield from _encoder(12, b, tokens, 768, 12, dtype)
    for _ in range(b):
        yield linear(tokens, 50257, 768, dtype, "none")
        yield along("softmax", tokens, 50257, dtype)


LLAMA_LAYERS = 32


def _decode(m: int, width: int, keys: int, inner: int, dtype: str) -> Iterator[Module]:
    """A llama's products for so many tokens."""
    for _ in range(LLAMA_LAYERS):
        yield linear(m, width + 2 * keys, width, dtype, "none")
        yield linear(m, width, width, dtype, "add")
        yield linear(m, inner, width, dtype, "silu")
        yield linear(m, width, inner, dtype, "add")
        yield from [along("rms_norm", m, width, dtype)] * 2
    yield along("rms_norm", m, width, dtype)


def _llama(tokens: int, width: int, keys: int, inner: int, dtype: str) -> Iterator[Module]:
    yield from _decode(tokens, width, keys, inner, dtype)
    for _ in range(LLAMA_LAYERS):
        yield from _attention(1, width // 128, tokens, 128, dtype)


def _resnet50(b: int, dtype: str) -> Iterator[Module]:
    relu, add = "bias_relu", "bias_add_relu"
    yield conv(b, 224, 3, 64, 7, dtype, relu, 2)
    wide = 64
    for size, narrow, blocks in ((56, 64, 3), (28, 128, 4), (14, 256, 6), (7, 512, 3)):
        if size < 56:
            yield conv(b, 2 * size, wide, narrow, 1, dtype, relu)
            yield conv(b, 2 * size, narrow, narrow, 3, dtype, relu, 2)
        inside = blocks - (size < 56)
        yield from [conv(b, size, narrow, narrow, 3, dtype, relu)] * inside
        yield from [conv(b, size, narrow, 4 * narrow, 1, dtype, add)] * blocks
        yield from [conv(b, size, 4 * narrow, narrow, 1, dtype, relu)] * (blocks - 1)
        wide = 4 * narrow
    yield along("row_sum", b * 2048, 49, dtype)
    yield linear(b, 1000, 2048, dtype)
    yield along("softmax", b, 1000, dtype)


def _resnet18(b: int, dtype: str) -> Iterator[Module]:
    narrow = 64
    for size, width in ((56, 64), (28, 128), (14, 256), (7, 512)):
        if size < 56:
            yield conv(b, 2 * size, narrow, width, 3, dtype, "bias_relu", 2)
        yield from [conv(b, size, width, width, 3, dtype, "bias_add_relu")] * 2
        narrow = width
    yield linear(b, 1000, 512, dtype)
    yield along("row_sum", b * 512, 49, dtype)


def _mobilenet_v2(b: int, dtype: str, which: tuple[int, ...]) -> Iterator[Module]:
    points = (
        *((112, 32, 16, "", 1), (112, 16, 96, "_relu6", 1), (56, 144, 24, "_add", 1)),
        *((56, 24, 144, "_relu6", 2), (28, 192, 32, "_add", 2), (28, 32, 192, "_relu6", 3)),
        *((14, 384, 64, "_add", 3), (14, 64, 384, "_relu6", 4), (14, 576, 96, "_add", 2)),
        *((7, 960, 160, "_add", 2), (7, 320, 1280, "_relu6", 1)),
    )
    for size, c, k, then, calls in (points[place] for place in which):
        yield from [conv(b, size, c, k, 1, dtype, f"bias{then}")] * calls
    yield along("row_sum", b * 1280, 49, dtype)
    yield linear(b, 1000, 1280, dtype)


BLOCKS = 5
"""Of each size in a U-Net: two on the way down, three on the way up."""


def _unet(b: int, dtype: str) -> Iterator[Module]:
    for size, width in ((64, 320), (32, 640), (16, 1280)):
        yield from [conv(b, size, width, width, 3, dtype, "bias_add")] * BLOCKS
        yield conv(b, size, width, 2 * width, 3, dtype, "bias", 2)
        yield from [linear(b * size * size, width, width, dtype, "bias_add")] * (2 * BLOCKS)
        yield from [along("layer_norm", b * size * size, width, dtype)] * (3 * BLOCKS)
    for _ in range(BLOCKS * b):
        yield from _attention(1, 8, 4096, 40, dtype)
    for _ in range(BLOCKS):
        yield from _attention(b, 8, 1024, 80, dtype)
