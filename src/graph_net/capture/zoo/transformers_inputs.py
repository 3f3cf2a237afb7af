"""Inputs for a transformers model, made from the signature of its call and its configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

import torch
from torch import nn

TOKENS = 32
DECODER_TOKENS = 16
FRAMES = 8
SAMPLES = 16_000
"""One second of sound."""


class Inputs:
    """What can be said about a model's inputs; each public method makes the input of its name."""

    def __init__(self, model: nn.Module, config: Any, head: str) -> None:
        self.model = model
        self.config = config
        self.head = head
        self.accepted = inspect.signature(model.forward).parameters

    def look(self, *names: str, default: Any = None, first: str = "") -> Any:
        """The first of these settings that has a value, in the part named first or any other."""
        parts = sorted(parts_of(self.config), key=lambda part: first not in part[0])
        for name in names:
            for _, part in parts if first else parts_of(self.config):
                value = getattr(part, name, None)
                if value is not None:
                    return value
        return default

    # text

    def ids(self, count: int, part: str = "text") -> torch.Tensor:
        """Word numbers inside the vocabulary, none of them special."""
        size = self.look("vocab_size", default=1000, first=part)
        size = min(size if isinstance(size, int) else 1000, 1000)
        start = min(10, size - 1)
        row = torch.arange(count) % (size - start) + start
        return row.expand(1, 2, count).clone() if self.head == "multiple choice" else row[None]

    def input_ids(self) -> torch.Tensor:
        return self.ids(TOKENS)

    def attention_mask(self) -> torch.Tensor | None:
        if "input_ids" not in self.accepted:
            return None
        return torch.ones_like(self.input_ids())

    def decoder_input_ids(self) -> torch.Tensor:
        return self.ids(DECODER_TOKENS, "decoder")

    def bbox(self) -> torch.Tensor:
        width = 8 if self.look("dim_bbox") == 8 else 4
        return torch.zeros(1, TOKENS, width, dtype=self.look("_none", default=torch.long))

    # images

    def size(self) -> tuple[int, int]:
        """Height and width of the images the configuration is for."""
        size = self.look("image_size", "input_size", "img_size", default=224, first="vision")
        if isinstance(size, dict):
            size = [size.get("height", 224), size.get("width", 224)]
        if isinstance(size, (list, tuple)):
            return (int(size[-2]), int(size[-1])) if len(size) > 1 else (int(size[0]),) * 2
        return int(size), int(size)

    def image(self) -> torch.Tensor:
        channels = self.look("num_channels", "in_channels", "in_chans", default=3, first="vision")
        return torch.zeros(1, channels if isinstance(channels, int) else 3, *self.size())

    def pixel_values(self) -> torch.Tensor:
        modalities = getattr(self.model, "input_modalities", ())
        if modalities in ("video", ("video",)) or "video" in self.head:
            return self.pixel_values_videos()
        return self.image()

    def pixel_values_videos(self) -> torch.Tensor:
        frames = self.look("num_frames", "frames_per_clip", default=FRAMES)
        return self.image()[:, None].repeat(1, frames, 1, 1, 1)

    # sound

    def input_values(self) -> torch.Tensor:
        mels = self.look("num_mel_bins")
        if mels and self.look("max_length") and not self.look("conv_dim"):
            return torch.zeros(1, self.look("max_length"), mels)
        if self.look("conv_dim"):
            return torch.zeros(1, SAMPLES)
        return torch.zeros(1, self.look("audio_channels", default=1), SAMPLES)

    def input_features(self) -> torch.Tensor:
        mels = self.look(
            "num_mel_bins",
            "feature_projection_input_dim",
            "input_feat_per_channel",
            "input_feat_size",
            "input_dim",
            default=80,
            first="audio",
        )
        first = next((m for m in self.model.modules() if isinstance(m, nn.Conv1d)), None)
        if first is not None and first.in_channels == mels:
            return torch.zeros(1, mels, 2 * self.look("max_source_positions", default=1500))
        return torch.zeros(1, 256, mels)

    # time series

    def past_values(self) -> torch.Tensor:
        length = self.look("context_length", default=64)
        width = self.look("num_input_channels", "input_size", default=1)
        lags = max(self.look("lags_sequence", default=[0]))
        return torch.zeros(1, length + lags, *([] if width == 1 else [width]))


ALWAYS = (
    "input_ids",
    "attention_mask",
    "decoder_input_ids",
    "bbox",
    "pixel_values",
    "input_features",
    "input_values",
    "past_values",
)


def inputs_for(model: nn.Module, config: Any, head: str) -> dict[str, Any]:
    """Inputs of batch 1 by name, only such as the model's call accepts."""
    inputs = Inputs(model, config, head)
    given: dict[str, Any] = {}
    for name, parameter in inputs.accepted.items():
        required = parameter.default is parameter.empty and parameter.kind in (1, 3)
        if name in ALWAYS or required:
            value = getattr(inputs, name, lambda: None)()
            if value is not None:
                given[name] = value
    if "use_cache" in inputs.accepted:
        given["use_cache"] = False
    return given


def parts_of(config: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """A configuration and those inside it, each with the name it has there."""
    yield name, config
    for key, value in list(vars(config).items()):
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            yield from parts_of(value, f"{name}.{key}")
