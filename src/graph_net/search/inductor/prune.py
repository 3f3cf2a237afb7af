"""Prune the configurations of a user's own Triton matmul kernel."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from graph_net.programs.triton.target import Target, this_machine
from graph_net.search.inductor.choice_model import ChoiceModel, load_choices
from graph_net.search.inductor.template_call import Operand, TemplateCall
from graph_net.search.inductor.tile import Tile

log = logging.getLogger(__name__)

SIZES = ("M", "N", "K")


def prune(
    model: str | Path | ChoiceModel,
    *,
    sizes: Sequence[str] = SIZES,
    transposed: bool = False,
    target: Target | None = None,
) -> dict[str, Callable[..., list[Any]]]:
    """Return a ``prune_configs_by`` that keeps the configurations that may be fastest.

    ``sizes`` names the kernel's arguments with the rows, the columns and the depth of the product;
    configurations have BLOCK_M, BLOCK_N and BLOCK_K, and optionally GROUP_M. The dtype is that of
    the first tensor. ``transposed``: the second factor is stored N × K. If the call is outside the
    model's domain, or the model fails, all configurations are kept; those without a tile always.
    """
    loaded = load_choices(model) if isinstance(model, (str, Path)) else model

    def early_config_prune(
        configs: list[Any], arguments: Mapping[str, Any], **given: Any
    ) -> list[Any]:
        tiles = [_tile(config) for config in configs]
        try:
            gpu = target or this_machine()
            call = _call({**arguments, **given}, sizes, transposed)
            family = None if gpu is None or call is None else loaded.family(call, gpu)
            if family is None:
                return configs
            kept = loaded.keep(family, list(dict.fromkeys(filter(None, tiles))))
        except Exception as error:  # a failed prediction must not fail the kernel
            log.warning("graph_net left the configurations of a kernel as they were: %s", error)
            return configs
        paired = zip(configs, tiles, strict=True)
        return [config for config, tile in paired if tile is None or tile in kept] or configs

    return {"early_config_prune": early_config_prune}


def _call(
    arguments: Mapping[str, Any], sizes: Sequence[str], transposed: bool
) -> TemplateCall | None:
    numbers = [arguments.get(name) for name in sizes]
    dtypes = [str(value.dtype) for value in arguments.values() if hasattr(value, "dtype")]
    if not dtypes or not all(type(number) is int for number in numbers):
        return None
    rows, columns, depth = (int(number) for number in numbers if number is not None)
    dtype = dtypes[0].removeprefix("torch.")
    strides = (1, depth) if transposed else (columns, 1)
    left = Operand((rows, depth), (depth, 1), dtype)
    return TemplateCall("mm", (left, Operand((depth, columns), strides, dtype)), "cuda")


def _tile(config: Any) -> Tile | None:
    """Return the tile of a triton.Config."""
    chosen = {"num_stages": config.num_stages, "num_warps": config.num_warps}
    return Tile.of({**config.kwargs, **chosen})
