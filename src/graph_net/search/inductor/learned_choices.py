"""LearnedChoices: Inductor's choices, reduced by a model to the few that may be best.

Import only where Inductor is used: the base class is Inductor's.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from torch._inductor.choices import InductorChoices

from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.target import Target
from graph_net.search.inductor.choice_model import ChoiceModel
from graph_net.search.inductor.families import FLEX
from graph_net.search.inductor.finals import TIMED_BY
from graph_net.search.inductor.queued_timing import ClockReport
from graph_net.search.inductor.reading import (
    exhaustive,
    is_flex_attention,
    read_call,
    template_name,
    template_tile,
    tile_of,
)
from graph_net.search.inductor.template_call import CONVOLUTION, TemplateCall
from graph_net.search.inductor.tile import Tile
from graph_net.search.inductor.unfitting import BOUNDED, cannot_fit, flex_cannot_fit

log = logging.getLogger(__name__)


@dataclass
class ChoiceReport:
    """Counts of a model's use inside Inductor."""

    operations: int = 0
    """Operations whose choices were reduced."""
    offered: int = 0
    """Triton choices that these operations had."""
    kept: int = 0
    untouched: int = 0
    """Operations outside the model's domain, unchanged except for ``dropped``."""
    dropped: int = 0
    """Choices of those operations that cannot fit in shared memory."""
    errors: list[str] = field(default_factory=list)
    """Why choices were left unchanged by an error; each is a defect to report."""
    clock: ClockReport = field(default_factory=ClockReport)
    """How the remaining choices were timed."""


class LearnedChoices(InductorChoices):
    """Keeps the tiles that fit and that the model keeps, and every choice that is not a tile."""

    def __init__(self, model: ChoiceModel, target: Target, widened: bool = False) -> None:
        super().__init__()
        self.model, self.target, self.widened = model, target, widened
        self.report = ChoiceReport()

    def uuid(self) -> str:
        """Name these choices in the key of the graph cache."""
        space = "widened" if self.widened else "default"
        return f"graph_net learned {self.model.uuid} {self.target.arch} {space} {TIMED_BY}"

    def _finalize_template_configs(
        self,
        template_choices: Mapping[str, Iterator[Any]],
        kernel_inputs: Any,
        templates: Sequence[Any],
        op_name: str,
        kwarg_overrides: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> list[Any]:
        default = list(chain.from_iterable(template_choices.values()))
        try:
            call = read_call(op_name, kernel_inputs.nodes())
            family = self._family(call)
            if family is None and op_name in BOUNDED:
                return self._fitting_products(default, call)
            tiled = {choice.template.uid for choice in default if template_tile(choice) is not None}
            if family is None or not tiled:
                self.report.untouched += 1
                return default
            choices = default
            if self.widened:
                used = [template for template in templates if template.uid in tiled]
                overrides = kwarg_overrides or {}
                choices = default + exhaustive(self, kernel_inputs, used, op_name, overrides)
            return self._cut(family, choices, [template_tile(choice) for choice in choices])
        except Exception as error:  # a failed prediction must not fail the compilation
            self._note(op_name, error)
            return default

    def _fitting_products(self, choices: list[Any], call: TemplateCall | None) -> list[Any]:
        """Return the choices of a product outside the domain, less those that cannot fit."""
        if call is None or not self._is_ours(call.device):
            self.report.untouched += 1
            return choices
        tiles = [template_tile(choice) for choice in choices]
        out = [tile is not None and cannot_fit(tile, call, self.target.shared) for tile in tiles]
        return self._drop(choices, out)

    def _fitting_flex(self, choices: list[Any]) -> list[Any]:
        """Return the choices of flex attention that may fit."""
        if not self._is_ours(choices[0].input_nodes[0].get_device().type):
            self.report.untouched += 1
            return choices
        return self._drop(choices, [flex_cannot_fit(one, self.target.shared) for one in choices])

    def _is_ours(self, device: str) -> bool:
        return device == self.model.rule.device and self.target.arch == self.model.rule.arch

    def _drop(self, choices: list[Any], out: Sequence[bool]) -> list[Any]:
        """Return the choices that are not out; all of them if none would be left."""
        left = [choice for choice, gone in zip(choices, out, strict=True) if not gone]
        self.report.untouched += 1
        self.report.dropped += len(choices) - len(left) if left else 0
        return left or choices

    def cut_uncompiled(self, choices: list[Any]) -> list[Any]:
        """Reduce choices that are not compiled yet; a preprocessing function."""
        op = _uncompiled_op(choices)
        if op is None:
            return choices
        try:
            nodes = choices[0].input_nodes
            call = read_call(op, nodes if op == FLEX else nodes[:2], choices)
            family, tiles = self._family(call), [tile_of(choice) for choice in choices]
            if family is not None and any(tiles):
                return self._cut(family, choices, tiles)
            if op == FLEX:
                return self._fitting_flex(choices)
            self.report.untouched += 1
            return choices
        except Exception as error:
            self._note(op, error)
            return choices

    def _family(self, call: TemplateCall | None) -> Gemm | None:
        return None if call is None else self.model.family(call, self.target)

    def _cut(self, family: Gemm, choices: list[Any], tiles: Sequence[Tile | None]) -> list[Any]:
        """Return the choices that are not tiles, then one choice per template and kept tile."""
        by_tile: dict[Tile, dict[str, Any]] = {}
        for choice, tile in zip(choices, tiles, strict=True):
            if tile is not None:
                by_tile.setdefault(tile, {}).setdefault(_template_of(choice), choice)
        kept = self.model.keep(family, list(by_tile))
        others = [choice for choice, tile in zip(choices, tiles, strict=True) if tile is None]
        if not kept and not others:
            return choices
        self.report.operations += 1
        tiled = [choice for tile in kept for choice in by_tile[tile].values()]
        self.report.offered += sum(map(len, by_tile.values()))
        self.report.kept += len(tiled)
        return others + tiled

    def _note(self, op: str, error: Exception) -> None:
        log.warning("graph_net left the choices of %s as they were: %s", op, error)
        self.report.errors.append(f"{op}: {type(error).__name__}: {error}")


def _template_of(choice: Any) -> str:
    """Return the name of a choice's template, before or after code is generated."""
    return str(choice.template.uid if hasattr(choice, "template") else template_name(choice))


def _uncompiled_op(choices: Sequence[Any]) -> str | None:
    """Return the operation of choices that are cut before they are compiled; None for others."""
    names = [str(getattr(choice, "name", "")) for choice in choices]
    if any("convolution" in name for name in names):
        return CONVOLUTION
    return FLEX if names and all(map(is_flex_attention, names)) else None
