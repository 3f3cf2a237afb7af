"""Variants of a Graph: in another dtype, at other sizes, or without a device."""

from graph_net.rewrite.variant.device import device_free
from graph_net.rewrite.variant.dtype import with_dtype
from graph_net.rewrite.variant.provenance import add_notes, variant_of
from graph_net.rewrite.variant.search import largest_that_fits, peak_bytes, size_for_seconds
from graph_net.rewrite.variant.sizes import with_sizes

__all__ = [
    "add_notes",
    "device_free",
    "largest_that_fits",
    "peak_bytes",
    "size_for_seconds",
    "variant_of",
    "with_dtype",
    "with_sizes",
]
