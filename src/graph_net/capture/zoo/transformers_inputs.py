"""Make inputs for a transformers model from the signature of its call and its configuration."""

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
"""The most ways of calling a model that are tried."""
_MEDIA = frozenset({"pixel_values", "input_features", "input_values", "flattened_patches"})
_USUAL = _MEDIA | frozenset(
    """
    input_ids attention_mask decoder_input_ids bbox image image_grid_thw spatial_shapes
    aspect_ratio_ids aspect_ratio_mask visual_feats visual_pos visual_embeds decoder_input_values
    future_time_features encoder_hidden_states states actions rewards returns_to_go timesteps
    """.split()
)
"""Inputs given where they are accepted; others only where they are required."""

Inputs = dict[str, Any]
_LEFT_OUT = object()


def inputs_for(model: nn.Module, config: Any, head: str) -> Inputs:
    """Return inputs of batch 1 by name, only such as the model's call accepts.

    Where signature and configuration leave several layouts open, the first that the model runs
    with under fake tensors is taken.
    """
    chooser = Chooser(model, config, head)
    first: Inputs | None = None
    for option in chooser.options():
        first = first or option
        if chooser.decided or chooser.trial.runs(option):
            return bind(model, option)
    return bind(model, first or {})


class Chooser:
    """Combines inputs into calls that a model may accept."""

    def __init__(self, model: nn.Module, config: Any, head: str) -> None:
        self.model = model
        self.config = config
        self.makers = Makers(model, config, head)
        self.accepted = inspect.signature(model.forward).parameters
        self.trial = FakeCall(model)
        self.choices = {name: self._choices(name) for name in self._wanted()}
        self.decided = all(len(options) == 1 for options in self.choices.values())

    def options(self) -> Iterator[Inputs]:
        """Yield the inputs that may fit, the likeliest first; at least one."""
        choices = self.choices
        fixed = {"use_cache": False} if "use_cache" in self.accepted else {}
        orders = sorted(
            itertools.product(*(range(len(options)) for options in choices.values())), key=sum
        )
        for order in [*orders[: min(TRIALS, len(orders)) - 1], orders[-1]]:
            chosen = {
                name: choices[name][index] for name, index in zip(choices, order, strict=True)
            }
            inputs = {name: v for name, v in chosen.items() if v is not _LEFT_OUT}
            if "input_values" in inputs:
                inputs.pop("input_features", None)  # a sound is given in one form
            if "pixel_values" not in inputs:
                inputs.pop("image_grid_thw", None)
            yield self._with_feature_tokens(inputs) | fixed

    def _wanted(self) -> list[str]:
        """Return the names to give a value: those the call requires, and those of a full call."""
        return [
            name
            for name, parameter in self.accepted.items()
            if hasattr(self.makers, name)
            if name in _USUAL or (parameter.default is parameter.empty and parameter.kind in (1, 3))
        ]

    def _choices(self, name: str) -> list[Any]:
        """Return the candidates for an input; last, if it is optional, leaving it out."""
        value = getattr(self.makers, name)()
        options = list(value) if isinstance(value, list) else [value]
        parameter = self.accepted[name]
        if name in _MEDIA and "input_ids" in self.accepted and parameter.default is None:
            options.append(None)
        return [_LEFT_OUT if option is None else option for option in options]

    def _with_feature_tokens(self, inputs: Inputs) -> Inputs:
        """Return the inputs with one token in the text per feature of the image or sound."""
        ids = inputs.get("input_ids")
        for kind, name in (("image", "pixel_values"), ("audio", "input_features")):
            token = self._token(kind)
            features = getattr(self.model, f"get_{kind}_features", None)
            if kind == "image" and token is None:
                token = self._token("video")
                features = getattr(self.model, "get_video_features", features)
            if name not in inputs or ids is None or features is None or token is None:
                continue
            ids = ids.masked_fill(ids == token, 9)  # a word that happens to have its number
            tokens = torch.full((1, self._count_features(features, inputs)), token)
            ids = torch.cat([ids[:, :4], tokens, ids[:, 4:]], 1)
            inputs = inputs | {"input_ids": ids}
            if "attention_mask" in inputs:
                inputs["attention_mask"] = torch.ones_like(ids)
            if "mm_token_type_ids" in self.accepted and kind == "image":
                inputs["mm_token_type_ids"] = (ids == token).int()
                inputs |= self._positions(inputs)
        return inputs

    def _token(self, kind: str) -> int | None:
        """Return the token that stands for a feature of an image or a sound."""
        for name in (f"{kind}_token_id", f"{kind}_token_index"):
            if hasattr(self.config, name):
                if getattr(self.config, name) is None:
                    setattr(self.config, name, 5)
                return int(getattr(self.config, name))
        return None

    def _positions(self, inputs: Inputs) -> Inputs:
        """Return positions in space and time of words and patches, if the model has them."""
        owner = next((m for m in self.model.modules() if hasattr(m, "get_rope_index")), None)
        if owner is None:
            return {}
        index: Any = owner.get_rope_index
        accepted = inspect.signature(index).parameters
        try:
            positions, _ = index(**{n: v for n, v in inputs.items() if n in accepted})
        except Exception:
            return {}
        return {"position_ids": positions.as_subclass(torch.Tensor)}

    def _count_features(self, features: Any, inputs: Inputs) -> int:
        """Count the features that the model makes of an image or a sound."""
        accepted = inspect.signature(features).parameters
        try:
            result = self.trial.call(features, {n: v for n, v in inputs.items() if n in accepted})
            result = getattr(result, "pooler_output", result)
            parts = result if isinstance(result, (list, tuple)) else [result]
            return int(sum(part.numel() // part.shape[-1] for part in parts))
        except Exception:
            return 0
