"""What is collected: products, convolutions and rows out of networks that people use.

A workload that several networks have is one workload with all their names, so that holding a
network out means holding out everything that occurs in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graph_net.record import canonical
from graph_net.space.space import Workload
from graph_net.space.triton.space import workload_of

Module = dict[str, Any]


@dataclass(frozen=True)
class Collected:
    """A workload, and the networks it comes from."""

    workload: Workload
    networks: tuple[str, ...]


def collected() -> list[Collected]:
    """All of them, each once, in a fixed order."""
    networks: dict[str, list[str]] = {}
    modules: dict[str, Module] = {}
    for network, module in _all():
        key = canonical(module)
        modules[key] = module
        names = networks.setdefault(key, [])
        if network not in names:
            names.append(network)
    return [Collected(workload_of(modules[key]), tuple(networks[key])) for key in modules]


def _all() -> Iterator[tuple[str, Module]]:
    for batch, dtype in ((1, "float16"), (16, "float16")):
        yield from _named("resnet50", _resnet50(batch, dtype))
    yield from _named("resnet18", _resnet18(32, "float16"))
    yield from _named("mobilenet_v2", _mobilenet_v2(1, "float16", (0, 3, 7, 10)))
    yield from _named("mobilenet_v2", _mobilenet_v2(32, "float16", tuple(range(11))))
    yield from _named("bert_base", _encoder(1, 128, 768, 12, 3072, "float16"))
    yield from _named("bert_base", _encoder(16, 128, 768, 12, 3072, "float16"))
    yield from _named("bert_base", _encoder(4, 128, 768, 12, 3072, "tf32"))
    yield from _named("bert_large", _encoder(8, 384, 1024, 16, 4096, "bfloat16"))
    yield from _named("vit_b16", _vit(16, 768, 12, 3072, "float16"))
    yield from _named("vit_l16", _vit(8, 1024, 16, 4096, "bfloat16"))
    yield from _named("gpt2", _gpt2(4, 1024, "bfloat16"))
    yield from _named("llama_7b", _llama(2048, 4096, 4096, 11008, "float16"))
    yield from _named("llama_7b", _decode(16, 4096, 4096, 11008, "float16"))
    yield from _named("llama3_8b", _llama(1024, 4096, 1024, 14336, "bfloat16"))
    yield from _named("llama3_8b", _decode(64, 4096, 1024, 14336, "bfloat16"))
    yield from _named("stable_diffusion", _unet(2, "float16"))


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
    b: int, tokens: int, width: int, heads: int, inner: int, dtype: str
) -> Iterator[Module]:
    m = b * tokens
    yield linear(m, 3 * width, width, dtype)
    yield from _attention(b, heads, tokens, width // heads, dtype)
    yield linear(m, width, width, dtype, "bias_add")
    yield linear(m, inner, width, dtype, "bias_gelu")
    yield linear(m, width, inner, dtype, "bias_add")
    yield along("layer_norm", m, width, dtype)


def _vit(b: int, width: int, heads: int, inner: int, dtype: str) -> Iterator[Module]:
    yield conv(b, 224, 3, width, 16, dtype, "bias", 16)
    yield from _encoder(b, 197, width, heads, inner, dtype)
    yield linear(b, 1000, width, dtype)
    yield along("row_sum", b * 197, width, dtype)


def _gpt2(b: int, tokens: int, dtype: str) -> Iterator[Module]:
    yield from _encoder(b, tokens, 768, 12, 3072, dtype)
    yield linear(tokens, 50257, 768, dtype, "none")
    yield along("softmax", tokens, 50257, dtype)


def _decode(m: int, width: int, keys: int, inner: int, dtype: str) -> Iterator[Module]:
    """A llama's products for so many tokens."""
    yield linear(m, width + 2 * keys, width, dtype, "none")
    yield linear(m, width, width, dtype, "add")
    yield linear(m, inner, width, dtype, "silu")
    yield linear(m, width, inner, dtype, "add")
    yield along("rms_norm", m, width, dtype)


def _llama(tokens: int, width: int, keys: int, inner: int, dtype: str) -> Iterator[Module]:
    yield from _decode(tokens, width, keys, inner, dtype)
    yield from _attention(1, width // 128, tokens, 128, dtype)


def _resnet50(b: int, dtype: str) -> Iterator[Module]:
    relu, add = "bias_relu", "bias_add_relu"
    yield conv(b, 224, 3, 64, 7, dtype, relu, 2)
    wide = 64
    for size, narrow in ((56, 64), (28, 128), (14, 256), (7, 512)):
        if size < 56:
            yield conv(b, 2 * size, wide, narrow, 1, dtype, relu)
            yield conv(b, 2 * size, narrow, narrow, 3, dtype, relu, 2)
        yield conv(b, size, narrow, narrow, 3, dtype, relu)
        yield conv(b, size, narrow, 4 * narrow, 1, dtype, add)
        yield conv(b, size, 4 * narrow, narrow, 1, dtype, relu)
        wide = 4 * narrow
    yield along("row_sum", b * 2048, 49, dtype)
    yield linear(b, 1000, 2048, dtype)
    yield along("softmax", b, 1000, dtype)


def _resnet18(b: int, dtype: str) -> Iterator[Module]:
    narrow = 64
    for size, width in ((56, 64), (28, 128), (14, 256), (7, 512)):
        if size < 56:
            yield conv(b, 2 * size, narrow, width, 3, dtype, "bias_relu", 2)
        yield conv(b, size, width, width, 3, dtype, "bias_add_relu")
        narrow = width
    yield linear(b, 1000, 512, dtype)
    yield along("row_sum", b * 512, 49, dtype)


def _mobilenet_v2(b: int, dtype: str, which: tuple[int, ...]) -> Iterator[Module]:
    points = (
        *((112, 32, 16, ""), (112, 16, 96, "_relu6"), (56, 144, 24, "_add")),
        *((56, 24, 144, "_relu6"), (28, 192, 32, "_add"), (28, 32, 192, "_relu6")),
        *((14, 384, 64, "_add"), (14, 64, 384, "_relu6"), (14, 576, 96, "_add")),
        *((7, 960, 160, "_add"), (7, 320, 1280, "_relu6")),
    )
    for size, c, k, then in (points[place] for place in which):
        yield conv(b, size, c, k, 1, dtype, f"bias{then}")
    yield along("row_sum", b * 1280, 49, dtype)
    yield linear(b, 1000, 1280, dtype)


def _unet(b: int, dtype: str) -> Iterator[Module]:
    for size, width in ((64, 320), (32, 640), (16, 1280)):
        yield conv(b, size, width, width, 3, dtype, "bias_add")
        yield conv(b, size, width, 2 * width, 3, dtype, "bias", 2)
        yield linear(b * size * size, width, width, dtype, "bias_add")
        yield along("layer_norm", b * size * size, width, dtype)
    yield from _attention(1, 8, 4096, 40, dtype)
    yield from _attention(b, 8, 1024, 80, dtype)
