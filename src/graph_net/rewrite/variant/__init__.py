"""Variants: a Graph in, the same model in another dtype, at other sizes or on no device out."""

from graph_net.rewrite.variant.device import device_free
from graph_net.rewrite.variant.dtype import with_dtype
from graph_net.rewrite.variant.provenance import noted, variant_of
from graph_net.rewrite.variant.search import peak_bytes, that_fits, that_takes
from graph_net.rewrite.variant.sizes import with_sizes

__all__ = [
    "device_free",
    "noted",
    "peak_bytes",
    "that_fits",
    "that_takes",
    "variant_of",
    "with_dtype",
    "with_sizes",
]
