"""Prune the configurations of a user's own Triton matmul kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from graph_net.programs.triton.target import Target, this_machine
from graph_net.search.inductor.choice_model import ChoiceModel, load_choices
from graph_net.search.inductor.template_call import Operand, TemplateCall
from graph_net.search.inductor.tile import Tile

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
    model's domain, all configurations are kept.
    """
    loaded = load_choices(model) if isinstance(model, (str, Path)) else model

    def early_config_prune(
        configs: list[Any], arguments: Mapping[str, Any], **given: Any
    ) -> list[Any]:
        gpu = target or this_machine()
        call = _call({**arguments, **given}, sizes, transposed)
        family = None if gpu is None or call is None else loaded.family(call, gpu)
        by_tile = {tile: one for one in configs if (tile := _tile(one)) is not None}
        if family is None or not by_tile:
            return configs
        kept = loaded.keep(family, list(by_tile))
        return [by_tile[tile] for tile in kept] or configs

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
