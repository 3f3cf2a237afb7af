"""Choices, outside a model's domain, that cannot fit in shared memory, by a lower bound."""

from __future__ import annotations

import re
from typing import Any

from graph_net.search.inductor.families import PAIR, SCALED
from graph_net.search.inductor.template_call import TemplateCall
from graph_net.search.inductor.tile import Tile

BOUNDED = (PAIR, SCALED)
"""Products whose tiles ``cannot_fit`` bounds: their factors come first."""
_SIDES = re.compile(r"\(\d+, -1, (\d+)\)")


def cannot_fit(tile: Tile, call: TemplateCall, shared: int) -> bool:
    """Return whether a product's tile needs more than ``shared`` bytes, however it is compiled.

    Triton keeps at least stages - 1 buffers of both factors, and none beyond the sum's last step.
    Two consecutive products share their buffers.
    """
    import torch

    each = int(getattr(torch, call.operands[0].dtype).itemsize)
    steps = -(-call.operands[0].sizes[-1] // tile.block_k)
    held = min(max(1, tile.num_stages - 1), steps)
    return tile.block_k * (tile.block_m + tile.block_n) * each * held > shared


def flex_cannot_fit(choice: Any, shared: int) -> bool:
    """Return whether the keys and values that a choice keeps in flight need more bytes."""
    info = choice.info_dict()
    sides = _SIDES.fullmatch(str(info.get("tile_shape", "")))
    if sides is None:
        return False
    _, key, value = choice.input_nodes[:3]
    row = sum(int(node.get_size()[-1]) for node in (key, value)) * key.get_dtype().itemsize
    held = max(1, int(info["num_stages"]) - 1)
    return bool(int(sides[1]) * row * held > shared)
