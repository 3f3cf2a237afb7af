"""Networks that people use, layer by layer: a module for each call.

Every layer that the kernels can compute is here, batch norms folded into their convolutions; what
they cannot is not: depthwise convolutions, maximum pooling, group norms, embeddings, and operators
on single numbers that are no product's epilogue. A global average is the sum of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from graph_net.programs.triton.layers import Module, along, batched, conv, linear

CLASSES = 1000


def networks() -> Iterator[tuple[str, Iterator[Module]]]:
    """Their names, as TenSet has them: architecture, batch, size; and their layers."""
    half, brain = "float16", "bfloat16"
    yield "mobilenet_v2-32x224", _mobilenet_v2(32, half)
    for batch in (1, 16):
        yield f"resnet50-{batch}x224", _resnet50(batch, half)
    yield "resnet18-32x224", _resnet18(32, half)
    yield "mobilenet_v2-1x224", _mobilenet_v2(1, half)
    for batch, dtype in ((1, half), (16, half), (4, "tf32")):
        yield f"bert_base-{batch}x128", _bert(12, batch, 128, 768, 12, dtype)
    yield "bert_large-8x384", _bert(24, 8, 384, 1024, 16, brain)
    yield "vit_b16-16x224", _vit(12, 16, 768, 12, half)
    yield "vit_l16-8x224", _vit(24, 8, 1024, 16, brain)
    yield "gpt2-4x1024", _gpt2(4, 1024, brain)
    yield "llama_7b-1x2048", _llama(2048, 4096, 11008, 32000, half)
    yield "llama_7b-16x1", _decode(16, 4096, 11008, 32000, half)
    yield "llama3_8b-1x1024", _llama(1024, 1024, 14336, 128256, brain)
    yield "llama3_8b-64x1", _decode(64, 1024, 14336, 128256, brain)
    yield "stable_diffusion-2x64", _unet(2, half)


def _resnet50(b: int, dtype: str) -> Iterator[Module]:
    """Blocks of 1 × 1, 3 × 3 and 1 × 1; the first of a stage has a convolution as its shortcut."""
    relu, add = "bias_relu", "bias_add_relu"
    yield conv(b, 224, 3, 64, 7, dtype, relu, 2)
    wide, before = 64, 56
    for size, narrow, blocks in ((56, 64, 3), (28, 128, 4), (14, 256, 6), (7, 512, 3)):
        stride = before // size
        yield conv(b, before, wide, narrow, 1, dtype, relu)
        yield conv(b, before, narrow, narrow, 3, dtype, relu, stride)
        yield conv(b, before, wide, 4 * narrow, 1, dtype, "bias", stride)
        yield from [conv(b, size, narrow, 4 * narrow, 1, dtype, add)] * blocks
        yield from [conv(b, size, 4 * narrow, narrow, 1, dtype, relu)] * (blocks - 1)
        yield from [conv(b, size, narrow, narrow, 3, dtype, relu)] * (blocks - 1)
        wide, before = 4 * narrow, size
    yield from _classified(b, 2048, dtype)


def _resnet18(b: int, dtype: str) -> Iterator[Module]:
    """Two blocks of two 3 × 3 a stage; where the size changes the shortcut is a convolution."""
    relu, add = "bias_relu", "bias_add_relu"
    yield conv(b, 224, 3, 64, 7, dtype, relu, 2)
    narrow, before = 64, 56
    for size, width in ((56, 64), (28, 128), (14, 256), (7, 512)):
        yield conv(b, before, narrow, width, 3, dtype, relu, before // size)
        yield conv(b, size, width, width, 3, dtype, relu)
        yield from [conv(b, size, width, width, 3, dtype, add)] * 2
        if size != before:
            yield conv(b, before, narrow, width, 1, dtype, "bias", 2)
        narrow, before = width, size
    yield from _classified(b, 512, dtype)


def _mobilenet_v2(b: int, dtype: str) -> Iterator[Module]:
    """The first convolution, then 1 × 1 ones alone: a 3 × 3 between two of them is depthwise."""
    yield conv(b, 224, 3, 32, 3, dtype, "bias_relu6", 2)
    size, width = 112, 32
    stages = ((16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1))
    for place, (out, blocks, first) in enumerate(stages):
        for block in range(blocks):
            inner = width * (6 if place else 1)
            if place:
                yield conv(b, size, width, inner, 1, dtype, "bias_relu6")
            size //= 1 if block else first
            yield conv(b, size, inner, out, 1, dtype, "bias_add" if block else "bias")
            width = out
    yield conv(b, size, width, 1280, 1, dtype, "bias_relu6")
    yield from _classified(b, 1280, dtype)


def _classified(b: int, width: int, dtype: str) -> Iterator[Module]:
    """The average of 7 × 7, then the classes."""
    yield along("row_sum", b * width, 49, dtype)
    yield linear(b, CLASSES, width, dtype)


def _attention(b: int, heads: int, tokens: int, head: int, dtype: str) -> Iterator[Module]:
    yield batched(b * heads, tokens, tokens, head, dtype, True)
    yield along("softmax", b * heads * tokens, tokens, dtype)
    yield batched(b * heads, tokens, head, tokens, dtype, False)


def _encoded(m: int, width: int, dtype: str) -> Iterator[Module]:
    """What follows attention in a layer, and its norms."""
    yield linear(m, width, width, dtype, "bias_add")
    yield linear(m, 4 * width, width, dtype, "bias_gelu")
    yield linear(m, width, 4 * width, dtype, "bias_add")
    yield from [along("layer_norm", m, width, dtype)] * 2


def _bert(layers: int, b: int, tokens: int, width: int, heads: int, dtype: str) -> Iterator[Module]:
    """Queries, keys and values are three layers; the norm beside the layers' is the embedding's."""
    m = b * tokens
    yield along("layer_norm", m, width, dtype)
    for _ in range(layers):
        yield from [linear(m, width, width, dtype)] * 3
        yield from _attention(b, heads, tokens, width // heads, dtype)
        yield from _encoded(m, width, dtype)
    yield linear(b, width, width, dtype)


def _transformer(
    layers: int, b: int, tokens: int, width: int, heads: int, dtype: str
) -> Iterator[Module]:
    """Queries, keys and values are one layer; a norm at the end."""
    m = b * tokens
    for _ in range(layers):
        yield linear(m, 3 * width, width, dtype)
        yield from _attention(b, heads, tokens, width // heads, dtype)
        yield from _encoded(m, width, dtype)
    yield along("layer_norm", m, width, dtype)


def _vit(layers: int, b: int, width: int, heads: int, dtype: str) -> Iterator[Module]:
    """Patches of 16 × 16 and a token for the class, which alone is classified."""
    yield conv(b, 224, 3, width, 16, dtype, "bias", 16)
    yield from _transformer(layers, b, 197, width, heads, dtype)
    yield linear(b, CLASSES, width, dtype)


def _gpt2(b: int, tokens: int, dtype: str) -> Iterator[Module]:
    """The words of one sequence after the other, and their softmax: their scores are large."""
    yield from _transformer(12, b, tokens, 768, 12, dtype)
    for _ in range(b):
        yield linear(tokens, 50257, 768, dtype, "none")
        yield along("softmax", tokens, 50257, dtype)


LLAMA_LAYERS, LLAMA_WIDTH, LLAMA_HEAD = 32, 4096, 128


def _decode(m: int, keys: int, inner: int, words: int, dtype: str) -> Iterator[Module]:
    """A llama's layers for so many tokens, without attention: its cache may be of any length.

    ``keys`` is the width of keys and of values, less than the queries' where these share them.
    """
    width = LLAMA_WIDTH
    for _ in range(LLAMA_LAYERS):
        yield linear(m, width, width, dtype, "none")
        yield from [linear(m, keys, width, dtype, "none")] * 2
        yield linear(m, width, width, dtype, "add")
        yield linear(m, inner, width, dtype, "silu")
        yield linear(m, inner, width, dtype, "none")
        yield linear(m, width, inner, dtype, "add")
        yield from [along("rms_norm", m, width, dtype)] * 2
    yield along("rms_norm", m, width, dtype)
    yield linear(m, words, width, dtype, "none")


def _llama(tokens: int, keys: int, inner: int, words: int, dtype: str) -> Iterator[Module]:
    """One sequence from its beginning, so that attention is among its own tokens."""
    yield from _decode(tokens, keys, inner, words, dtype)
    for _ in range(LLAMA_LAYERS):
        heads = LLAMA_WIDTH // LLAMA_HEAD
        yield from _attention(1, heads, tokens, LLAMA_HEAD, dtype)


BLOCKS = 5
"""Of each size in a U-Net: two on the way down, three on the way up."""


def _unet(b: int, dtype: str) -> Iterator[Module]:
    """Selected layers of Stable Diffusion's U-Net: those that keep both size and width.

    Not here: convolutions that change one of them, the way up's on joined tensors, the middle,
    attention to the text, projections around attention, and what is made of the time.
    """
    for size, width in ((64, 320), (32, 640), (16, 1280)):
        m = b * size * size
        for _ in range(BLOCKS):
            yield conv(b, size, width, width, 3, dtype, "bias_add")
            yield from [linear(m, width, width, dtype, "none")] * 3
            yield from _attention(b, 8, size * size, width // 8, dtype)
            yield from [linear(m, width, width, dtype, "bias_add")] * 2
            yield linear(m, 8 * width, width, dtype)
            yield linear(m, width, 4 * width, dtype, "bias_add")
            yield from [along("layer_norm", m, width, dtype)] * 3
