"""Inputs for a transformers model, made from the signature of its call and its configuration."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.transformers_trial import Trial, bind, bind_grid, known

TOKENS = 32
DECODER_TOKENS = 16
FRAMES = 8
SAMPLES = 16_000
"""One second of sound."""
PATCHES = 16
"""Patches along a side of an image that is given as a list of patches."""
TRIALS = 8

Given = dict[str, Any]
_LEFT_OUT = object()


def inputs_for(model: nn.Module, config: Any, head: str) -> Given:
    """Inputs of batch 1 by name, only such as the model's call accepts.

    Where signature and configuration leave several layouts open, the first that the model runs
    with under fake tensors is taken.
    """
    maker = Maker(model, config, head)
    options = list(maker.options())
    chosen = options[0]
    if len(options) > 1:
        chosen = next((option for option in options if maker.trial.runs(option)), chosen)
    return bind(model, chosen)


class Maker:
    """Makes inputs: a method for each name, giving a tensor or a list of what it may be."""

    def __init__(self, model: nn.Module, config: Any, head: str) -> None:
        self.model = model
        self.config = config
        self.head = head
        self.accepted = inspect.signature(model.forward).parameters
        self.trial = Trial(model)

    def options(self) -> Iterator[Given]:
        """The inputs that may fit, the likeliest first; there is at least one."""
        choices = {name: self._choices(name) for name in self._wanted()}
        fixed = {"use_cache": False} if "use_cache" in self.accepted else {}
        orders = sorted(
            itertools.product(*(range(len(options)) for options in choices.values())), key=sum
        )
        for order in [*orders[: min(TRIALS, len(orders)) - 1], orders[-1]]:
            chosen = {
                name: choices[name][index] for name, index in zip(choices, order, strict=True)
            }
            given = {name: v for name, v in chosen.items() if v is not _LEFT_OUT}
            if "pixel_values" not in given:
                given.pop("image_grid_thw", None)
            yield self._with_places(given) | fixed

    def _wanted(self) -> list[str]:
        """The names to give a value: those the call requires, and what belongs to a full call."""
        return [
            name
            for name, parameter in self.accepted.items()
            if hasattr(self, name) and name not in _HELPERS
            if name in _USUAL or (parameter.default is parameter.empty and parameter.kind in (1, 3))
        ]

    def _choices(self, name: str) -> list[Any]:
        """What an input may be; left out, last, where the model can do without it."""
        made = getattr(self, name)()
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

    def look(self, *names: str, default: Any = None, first: str = "") -> Any:
        """The first of these settings that has a value, first in the part that is named."""
        parts = sorted(parts_of(self.config), key=lambda part: first not in part[0])
        for name in names:
            for _, part in parts:
                value = getattr(part, name, None)
                if value is not None:
                    return value
        return default

    # Text.

    def ids(self, count: int, part: str = "text") -> torch.Tensor:
        """Numbers of words inside the vocabulary, the last of them the end of a sentence."""
        size = self.look("vocab_size", default=1000, first=part)
        size = size if isinstance(size, int) else 1000
        longest = self.look("max_position_embeddings", default=count, first=part)
        count = min(count, longest) if isinstance(longest, int) and longest > 0 else count
        start = min(10, size - 1)
        row = torch.arange(count) % (min(size, 1000) - start) + start
        end = self.look("eos_token_id", first=part)
        if isinstance(end, int) and 0 <= end < size:
            row[-1] = end
        return row.expand(1, 2, count).clone() if self.head == "multiple choice" else row[None]

    def input_ids(self) -> Any:
        return self.ids(TOKENS)

    def attention_mask(self) -> Any:
        return torch.ones_like(self.input_ids()) if "input_ids" in self.accepted else None

    def decoder_input_ids(self) -> Any:
        # A head that classifies looks in the decoder's words for the end that the text has.
        classifies = self.head in ("sequence classification", "question answering")
        return self.input_ids() if classifies else self.ids(DECODER_TOKENS, "decoder")

    def qformer_input_ids(self) -> Any:
        return self.ids(TOKENS, "qformer")

    def bbox(self) -> Any:
        if self.look("dim_bbox"):
            return _zeros(1, TOKENS, self.look("dim_bbox"))
        return _zeros(1, TOKENS, 4).long()

    # Images.

    def size(self) -> tuple[int, int]:
        """Height and width of the images the configuration is for."""
        size = self.look("image_size", "input_size", "img_size", default=224, first="vision")
        if isinstance(size, dict):
            size = [size.get("height", 224), size.get("width", 224)]
        if isinstance(size, (list, tuple)):
            return int(size[-2] if len(size) > 1 else size[0]), int(size[-1])
        return int(size), int(size)

    def frame(self) -> torch.Tensor:
        """One image."""
        channels = self.look("num_channels", "in_channels", "in_chans", default=3, first="vision")
        return _zeros(channels if isinstance(channels, int) else 3, *self.size())

    def pixel_values(self) -> Any:
        if "image_grid_thw" in self.accepted:
            return self.hidden_states()
        if "spatial_shapes" in self.accepted:
            return self.hidden_states()[None]
        frame = self.frame()
        if "aspect_ratio_ids" in self.accepted:
            return frame.repeat(1, 1, self.look("max_num_tiles", default=4), 1, 1, 1)
        video = frame.repeat(self.look("num_frames", "frames_per_clip", default=FRAMES), 1, 1, 1)
        modalities = getattr(self.model, "input_modalities", ())
        if modalities in ("video", ("video",)) or "video" in self.head:
            return [video[None], frame[None]]
        if "input_ids" in self.accepted:
            return [frame[None], frame[None, None], frame.repeat(5, 1, 1, 1)[None], video[None]]
        return [frame[None], frame[None, None], video[None]]

    def pixel_attention_mask(self) -> Any:
        return torch.ones(1, PATCHES * PATCHES).long()

    def spatial_shapes(self) -> Any:
        return known(torch.tensor([[PATCHES, PATCHES]]))

    def aspect_ratio_ids(self) -> Any:
        return torch.ones(1, 1).long()

    def aspect_ratio_mask(self) -> Any:
        return torch.ones(1, 1, self.look("max_num_tiles", default=4)).long()

    def flattened_patches(self) -> Any:
        width = self.look("patch_embed_hidden_size", default=768, first="vision")
        return [_zeros(1, 2048, width + 2), _zeros(1, 2048, 768 + 2)]

    def task_inputs(self) -> Any:
        return self.ids(self.look("task_seq_len", default=77))

    def visual_feats(self) -> Any:
        return _zeros(1, 36, self.look("visual_feat_dim", default=2048))

    def visual_pos(self) -> Any:
        return _zeros(1, 36, 4)

    def visual_embeds(self) -> Any:
        return _zeros(1, 36, self.look("visual_embedding_dim", default=512))

    def query_embeds(self) -> Any:
        return _zeros(1, 32, self.look("hidden_size", default=768))

    def inputs(self) -> Any:
        words = self.ids(self.look("max_position_embeddings", default=2048))
        return [words, self.frame()[None], _zeros(1, 2048, self.look("d_model", default=768))]

    def image(self) -> Any:
        return _zeros(1, 3, 224, 224)

    def pixel_values_videos(self) -> Any:
        frames = self.look("num_frames", "frames_per_clip", default=FRAMES)
        return self.frame().repeat(frames, 1, 1, 1)[None]

    def image_sizes(self) -> Any:
        return known(torch.tensor([self.size()]))

    def hidden_states(self) -> Any:
        """An image as a list of patches."""
        patch = self.look("patch_size", default=14, first="vision")
        depth = self.look("temporal_patch_size", default=1, first="vision")
        channels = self.look("in_channels", "num_channels", "in_chans", default=3, first="vision")
        return _zeros(PATCHES * PATCHES, channels * depth * patch * patch)

    def grid_thw(self) -> Any:
        grid = torch.tensor([[1, PATCHES, PATCHES]])
        bind_grid(self.model, grid)
        return known(grid)

    image_grid_thw = grid_thw

    # Sound.

    def input_values(self) -> Any:
        wave = _zeros(1, SAMPLES)
        mels = self.look("num_mel_bins")
        if mels and not self.look("conv_dim"):
            return [_zeros(1, self.look("max_length", default=1024), mels), wave, wave[None]]
        return wave if self.look("conv_dim") else [wave[None], wave]

    def input_features(self) -> Any:
        mels = self.look(*_MELS, default=80, first="audio")
        length = 2 * self.look("max_source_positions", default=1500, first="audio")
        wide, tall = _zeros(1, mels, length), _zeros(1, 256, mels)
        options = [tall, wide, tall[None], wide[:, :, :256]]
        convolution = next((m for m in self.model.modules() if isinstance(m, nn.Conv1d)), None)
        if convolution is not None and convolution.in_channels == mels:
            options[:2] = [wide, tall]
        return options

    def input_features_mask(self) -> Any:
        return torch.ones(1, 256).long()

    def audio_mel(self) -> Any:
        return _zeros(1, 256, self.look("input_feat_size", default=128))

    def audio_mel_mask(self) -> Any:
        return torch.zeros(1, 256).bool()

    def latents(self) -> Any:
        width = self.look("hidden_size", default=512)
        return [_zeros(1, width, 32), _zeros(1, 32, width)]

    def decoder_input_values(self) -> Any:
        return _zeros(1, DECODER_TOKENS, self.look("num_mel_bins", default=80))

    # Series in time.

    def steps(self) -> int:
        """How many steps of the past a forecast is made from."""
        lags = self.look("lags_sequence", default=[0])
        return int(self.look("context_length", default=64) + max(lags))

    def past_values(self) -> Any:
        width = self.look("num_input_channels", "input_size", default=1)
        series = _zeros(1, self.steps(), width)
        return [series[..., 0], series] if width == 1 else series

    def past_observed_mask(self) -> Any:
        return torch.ones_like(self.past_values()[0])

    def past_time_features(self) -> Any:
        return _zeros(1, self.steps(), self.look("num_time_features", default=0))

    def past_values_padding(self) -> Any:
        return _zeros(1, self.steps()).long()

    def freq(self) -> Any:
        return _zeros(1, 1).long()

    def future_values(self) -> Any:
        return _zeros(1, self.look("prediction_length", default=1))

    def future_time_features(self) -> Any:
        length = self.look("prediction_length", default=1)
        return _zeros(1, length, self.look("num_time_features", default=0))

    # Decisions.

    def states(self) -> Any:
        return _zeros(1, 20, self.look("state_dim", default=17))

    def actions(self) -> Any:
        return _zeros(1, 20, self.look("act_dim", default=4))

    def rewards(self) -> Any:
        return _zeros(1, 20, 1)

    returns_to_go = rewards

    def timesteps(self) -> Any:
        return torch.arange(20)[None]


_MELS = (
    "num_mel_bins",
    "feature_projection_input_dim",
    "input_feat_per_channel",
    "input_feat_size",
    "input_dim",
    "feature_size",
)
_MEDIA = frozenset({"pixel_values", "input_features", "input_values", "flattened_patches"})
_USUAL = _MEDIA | frozenset(
    """
    input_ids attention_mask decoder_input_ids bbox image image_grid_thw spatial_shapes
    aspect_ratio_ids aspect_ratio_mask visual_feats visual_pos visual_embeds decoder_input_values
    future_time_features states actions rewards returns_to_go timesteps
    """.split()
)
"""Inputs given where they are accepted; others only where they are required."""
_HELPERS = frozenset("model config head accepted trial options ids frame size look steps".split())


def _zeros(*shape: int) -> torch.Tensor:
    """Zeros with memory: models are built in a mode in which large tensors have none."""
    return torch.zeros(*shape, device="cpu")


def parts_of(config: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """A configuration and those inside it, each with the name it has there."""
    yield name, config
    for key, value in list(vars(config).items()):
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            yield from parts_of(value, f"{name}.{key}")
