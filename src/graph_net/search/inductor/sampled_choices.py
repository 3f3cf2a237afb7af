"""SampledChoices: Inductor's own choices, plus a draw from its exhaustive space.

Import only where Inductor is used: the base class is Inductor's.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from torch._inductor.choices import InductorChoices

from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.matmul import Matmul
from graph_net.programs.triton.target import Target
from graph_net.search.inductor.drawing import draw_tiles
from graph_net.search.inductor.reading import (
    DEFAULT,
    exhaustive,
    is_flex_attention,
    read_call,
    template_tile,
    tile_of,
)
from graph_net.search.inductor.tile import Tile

TAPS = 9
"""Assumed taps of a convolution whose filter is unknown when its tiles are requested."""


class SampledChoices(InductorChoices):
    """Every choice that Inductor tries by default, and drawn ones up to ``count``."""

    def __init__(self, target: Target, count: int) -> None:
        super().__init__()
        self.target, self.count = target, count
        self._own_tiles: set[Tile] = set()
        """The default tiles of the convolution being lowered."""
        self._own_attention: set[tuple[int, ...]] = set()
        """The default configurations of the attention being lowered."""
        self.draws = 0

    def uuid(self) -> str:
        """Name these choices in the key of the graph cache."""
        return f"graph_net sampled {self.count}"

    def _finalize_template_configs(
        self,
        template_choices: Mapping[str, Iterator[Any]],
        kernel_inputs: Any,
        templates: Sequence[Any],
        op_name: str,
        kwarg_overrides: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> list[Any]:
        default = list(chain.from_iterable(template_choices.values()))
        call = read_call(op_name, kernel_inputs.nodes())
        family = None if call is None else call.family(self.target)
        known = {tile for choice in default if (tile := template_tile(choice)) is not None}
        if family is None or not known:
            return default
        tiled = {choice.template.uid for choice in default if template_tile(choice) is not None}
        used = [template for template in templates if template.uid in tiled]
        wide: dict[Tile, Any] = {}
        for choice in exhaustive(self, kernel_inputs, used, op_name, kwarg_overrides or {}):
            if (tile := template_tile(choice)) is not None and tile not in known:
                wide.setdefault(tile, choice)
        return default + self._draw(family, wide, self.count - len(known))

    def _draw(self, family: Gemm, wide: Mapping[Tile, Any], count: int) -> list[Any]:
        fitting = [tile for tile in wide if tile.fits_in(family)]
        drawn = [wide[tile] for tile in draw_tiles(family, fitting, max(count, 0))]
        for choice in drawn:
            choice.annotations[DEFAULT] = False
        return drawn

    def get_conv_configs(self, device_type: str | None = "cuda") -> partial[Generator[Any]]:
        """Return a generator of a convolution's tiles: Inductor's, then drawn ones."""
        own = super().get_conv_configs(device_type)
        heuristics = self.get_config_heuristics(device_type)

        def widened(m: Any, n: Any, k: Any, **given: Any) -> Generator[Any]:
            default = list(own(m, n, k, **given))
            self._own_tiles = {tile for found in default if (tile := _triton_tile(found))}
            yield from default
            base = type(heuristics.conv_configs[0])
            wide = [
                base(one.block_m, one.block_n, one.block_k, one.num_stages, one.num_warps)
                for one in heuristics.exhaustive_configs
            ]
            more = heuristics.preprocess_mm_configs(m, n, k, configs=wide, op_name="conv", **given)
            found = {tile: one for one in more if (tile := _triton_tile(one)) is not None}
            each, shared = int(given.get("dtype_size", 2)), self.target.shared
            tiles = [
                tile for tile in found if tile not in self._own_tiles and tile.fits(each, shared)
            ]
            drawn = draw_tiles(self._product(m, n, k), tiles, self.count // 2)
            yield from (found[tile] for tile in drawn)

        return partial(widened)

    def _product(self, m: Any, n: Any, k: Any) -> Matmul:
        sizes = {"m": int(m), "n": int(n), "k": TAPS * int(k)}
        kind = {"kernel": "matmul", "dtype": "float16", "epilogue": "none", "transposed": True}
        return Matmul({**kind, **sizes}, self.target)

    def get_flex_attention_fwd_configs(
        self, head_dim: int, dtype: Any, device_type: str | None = "cuda"
    ) -> list[Any]:
        """Return the tiles of flex attention: Inductor's, then drawn ones, whatever its sizes."""
        own = super().get_flex_attention_fwd_configs(head_dim, dtype, device_type)
        self._own_attention = {_attention_config(one) for one in own}
        wide = self.get_config_heuristics(device_type).exhaustive_flex_attn_fwd_configs
        rest = [one for one in wide if _attention_config(one) not in self._own_attention]
        chance = random.Random(f"{head_dim} {dtype} {self.draws}")  # noqa: S311  # no secret
        self.draws += 1
        return [*own, *chance.sample(rest, min(len(rest), max(self.count - len(own), 0)))]

    def mark_defaults(self, choices: list[Any]) -> list[Any]:
        """Annotate choices that were drawn; a preprocessing function of Inductor."""
        for choice in choices:
            if (tile := tile_of(choice)) is None:
                continue
            if "convolution" in str(choice.name):
                choice.annotations[DEFAULT] = tile in self._own_tiles
            elif is_flex_attention(str(choice.name)):
                config = (tile.block_m, tile.block_k, tile.num_stages, tile.num_warps)
                choice.annotations[DEFAULT] = config in self._own_attention
        return choices


def _attention_config(config: Any) -> tuple[int, ...]:
    """Return the queries, keys, stages and warps of a FlexConfig."""
    return (config.block_m, config.block_n, config.num_stages, config.num_warps)


def _triton_tile(config: Any) -> Tile | None:
    """Return the tile of a triton.Config."""
    chosen = {"num_stages": config.num_stages, "num_warps": config.num_warps}
    return Tile.of({**config.kwargs, **chosen})
