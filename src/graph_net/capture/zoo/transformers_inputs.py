"""Inputs for a transformers model, made from the signature of its call and its configuration."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.transformers_makers import Makers
from graph_net.capture.zoo.transformers_trial import FakeCall, bind

TRIALS = 8
"""How many ways of calling a model are tried at most."""
_MEDIA = frozenset({"pixel_values", "input_features", "input_values", "flattened_patches"})
_USUAL = _MEDIA | frozenset(
    """
    input_ids attention_mask decoder_input_ids bbox image image_grid_thw spatial_shapes
    aspect_ratio_ids aspect_ratio_mask visual_feats visual_pos visual_embeds decoder_input_values
    future_time_features encoder_hidden_states states actions rewards returns_to_go timesteps
    """.split()
)
"""Inputs given where they are accepted; others only where they are required."""

Given = dict[str, Any]
_LEFT_OUT = object()


def inputs_for(model: nn.Module, config: Any, head: str) -> Given:
    """Inputs of batch 1 by name, only such as the model's call accepts.

    Where signature and configuration leave several layouts open, the first that the model runs
    with under fake tensors is taken.
    """
    chooser = Chooser(model, config, head)
    first: Given | None = None
    for option in chooser.options():
        first = first or option
        if chooser.decided or chooser.trial.runs(option):
            return bind(model, option)
    return bind(model, first or {})


class Chooser:
    """Puts inputs together into calls that a model may take."""

    def __init__(self, model: nn.Module, config: Any, head: str) -> None:
        self.model = model
        self.config = config
        self.makers = Makers(model, config, head)
        self.accepted = inspect.signature(model.forward).parameters
        self.trial = FakeCall(model)
        self.choices = {name: self._choices(name) for name in self._wanted()}
        self.decided = all(len(options) == 1 for options in self.choices.values())

    def options(self) -> Iterator[Given]:
        """The inputs that may fit, the likeliest first; there is at least one."""
        choices = self.choices
        fixed = {"use_cache": False} if "use_cache" in self.accepted else {}
        orders = sorted(
            itertools.product(*(range(len(options)) for options in choices.values())), key=sum
        )
        for order in [*orders[: min(TRIALS, len(orders)) - 1], orders[-1]]:
            chosen = {
                name: choices[name][index] for name, index in zip(choices, order, strict=True)
            }
            given = {name: v for name, v in chosen.items() if v is not _LEFT_OUT}
            if "input_values" in given:
                given.pop("input_features", None)  # a sound is given in one form
            if "pixel_values" not in given:
                given.pop("image_grid_thw", None)
            yield self._with_places(given) | fixed

    def _wanted(self) -> list[str]:
        """The names to give a value: those the call requires, and what belongs to a full call."""
        return [
            name
            for name, parameter in self.accepted.items()
            if hasattr(self.makers, name)
            if name in _USUAL or (parameter.default is parameter.empty and parameter.kind in (1, 3))
        ]

    def _choices(self, name: str) -> list[Any]:
        """What an input may be; left out, last, where the model can do without it."""
        made = getattr(self.makers, name)()
        options = list(made) if isinstance(made, list) else [made]
        parameter = self.accepted[name]
        if name in _MEDIA and "input_ids" in self.accepted and parameter.default is None:
            options.append(None)
        return [_LEFT_OUT if option is None else option for option in options]

    def _with_places(self, given: Given) -> Given:
        """The inputs with as many places in the text as the image or sound has features."""
        ids = given.get("input_ids")
        for kind, name in (("image", "pixel_values"), ("audio", "input_features")):
            token = self._token(kind)
            features = getattr(self.model, f"get_{kind}_features", None)
            if kind == "image" and token is None:
                token, features = (
                    self._token("video"),
                    getattr(self.model, "get_video_features", features),
                )
            if name not in given or ids is None or features is None or token is None:
                continue
            ids = ids.masked_fill(ids == token, 9)  # a word that happens to have its number
            places = torch.full((1, self._places(features, given)), token)
            ids = torch.cat([ids[:, :4], places, ids[:, 4:]], 1)
            given = given | {"input_ids": ids}
            if "attention_mask" in given:
                given["attention_mask"] = torch.ones_like(ids)
            if "mm_token_type_ids" in self.accepted and kind == "image":
                given["mm_token_type_ids"] = (ids == token).int()
                given |= self._positions(given)
        return given

    def _token(self, kind: str) -> int | None:
        """The word that stands for a feature of an image or a sound."""
        for name in (f"{kind}_token_id", f"{kind}_token_index"):
            if hasattr(self.config, name):
                if getattr(self.config, name) is None:
                    setattr(self.config, name, 5)
                return int(getattr(self.config, name))
        return None

    def _positions(self, given: Given) -> Given:
        """Positions in space and time of words and patches, where the model has such."""
        owner = next((m for m in self.model.modules() if hasattr(m, "get_rope_index")), None)
        if owner is None:
            return {}
        index: Any = owner.get_rope_index
        accepted = inspect.signature(index).parameters
        try:
            positions, _ = index(**{n: v for n, v in given.items() if n in accepted})
        except Exception:
            return {}
        return {"position_ids": positions.as_subclass(torch.Tensor)}

    def _places(self, features: Any, given: Given) -> int:
        """How many features the model makes of an image or a sound."""
        accepted = inspect.signature(features).parameters
        try:
            made = self.trial.call(features, {n: v for n, v in given.items() if n in accepted})
            made = getattr(made, "pooler_output", made)
            parts = made if isinstance(made, (list, tuple)) else [made]
            return int(sum(part.numel() // part.shape[-1] for part in parts))
        except Exception:
            return 0
