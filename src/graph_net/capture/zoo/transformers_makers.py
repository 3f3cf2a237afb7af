"""The inputs of transformers models, by the names their calls give them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.transformers_trial import bind_grid, value_tensor

TOKENS = 32
DECODER_TOKENS = 16
FRAMES = 8
SAMPLES = 16_000
"""One second of sound."""
PATCHES = 16
"""Patches along a side of an image that is given as a list of patches."""
_MELS = (
    *("num_mel_bins", "feature_projection_input_dim", "input_feat_per_channel"),
    *("input_feat_size", "input_dim", "feature_size"),
)
_READERS = (nn.Linear, nn.Conv1d, nn.Conv2d)
_SIZES = {"rf_detr": 560}
"""Sides of images where the configuration states none that fits."""


class Makers:
    """Makes inputs: a public method per name returns a tensor, or a list of candidates."""

    def __init__(self, model: nn.Module, config: Any, head: str) -> None:
        self._model = model
        self._config = config
        self._head = head
        self._accepted = inspect.signature(model.forward).parameters

    def _look(self, *names: str, default: Any = None, first: str = "") -> Any:
        """Return the first of these settings that has a value, ``first`` parts first."""
        parts = sorted(parts_of(self._config), key=lambda part: first not in part[0])
        for name in names:
            for _, part in parts:
                value = getattr(part, name, None)
                if value is not None:
                    return value
        return default

    # Text.

    def _ids(self, count: int, part: str = "text") -> torch.Tensor:
        """Return token ids inside the vocabulary, the last one the end of a sentence."""
        size = self._look("vocab_size", default=1000, first=part)
        size = size if isinstance(size, int) else 1000
        longest = self._look("max_position_embeddings", default=count, first=part)
        count = min(count, longest) if isinstance(longest, int) and longest > 0 else count
        start = min(10, size - 1)
        row = torch.arange(count) % (min(size, 1000) - start) + start
        end = self._look("eos_token_id", first=part)
        if isinstance(end, int) and 0 <= end < size:
            row[-1] = end
        return row.expand(1, 2, count).clone() if self._head == "multiple choice" else row[None]

    def input_ids(self) -> Any:
        return self._ids(TOKENS)

    def attention_mask(self) -> Any:
        return torch.ones_like(self.input_ids()) if "input_ids" in self._accepted else None

    def decoder_input_ids(self) -> Any:
        # A classification head searches the decoder's tokens for the end of the text.
        classifies = self._head in ("sequence classification", "question answering")
        return self.input_ids() if classifies else self._ids(DECODER_TOKENS, "decoder")

    def qformer_input_ids(self) -> Any:
        return self._ids(TOKENS, "qformer")

    def bbox(self) -> Any:
        if self._look("dim_bbox"):
            return _zeros(1, TOKENS, self._look("dim_bbox"))
        return _zeros(1, TOKENS, 4).long()

    # Images.

    def _size(self) -> tuple[int, int]:
        """Return height and width of the images the configuration is for."""
        size: Any = _SIZES.get(self._config.model_type)
        size = size or self._look(
            "image_size", "input_size", "img_size", default=224, first="vision"
        )
        if isinstance(size, dict):
            size = [size.get("height", 224), size.get("width", 224)]
        if isinstance(size, (list, tuple)):
            return int(size[-2] if len(size) > 1 else size[0]), int(size[-1])
        return int(size), int(size)

    def _frame(self) -> torch.Tensor:
        """Return one image."""
        channels = self._look("num_channels", "in_channels", "in_chans", default=3, first="vision")
        return _zeros(channels if isinstance(channels, int) else 3, *self._size())

    def pixel_values(self) -> Any:
        if "image_grid_thw" in self._accepted:
            return self.hidden_states()
        if "spatial_shapes" in self._accepted:
            return self.hidden_states()[None]
        frame = self._frame()
        if "aspect_ratio_ids" in self._accepted:
            return frame.repeat(1, 1, self._look("max_num_tiles", default=4), 1, 1, 1)
        video = frame.repeat(self._look("num_frames", "frames_per_clip", default=FRAMES), 1, 1, 1)
        modalities = getattr(self._model, "input_modalities", ())
        if modalities in ("video", ("video",)) or "video" in self._head:
            return [video[None], frame[None]]
        if "input_ids" in self._accepted:
            return [frame[None], frame[None, None], frame.repeat(5, 1, 1, 1)[None], video[None]]
        return [frame[None], frame[None, None], video[None]]

    def pixel_attention_mask(self) -> Any:
        return torch.ones(1, PATCHES * PATCHES).long()

    def spatial_shapes(self) -> Any:
        return value_tensor(torch.tensor([[PATCHES, PATCHES]]))

    def aspect_ratio_ids(self) -> Any:
        return torch.ones(1, 1).long()

    def aspect_ratio_mask(self) -> Any:
        return torch.ones(1, 1, self._look("max_num_tiles", default=4)).long()

    def flattened_patches(self) -> Any:
        width = self._look("patch_embed_hidden_size", default=768, first="vision")
        return [_zeros(1, 2048, width + 2), _zeros(1, 2048, 768 + 2)]

    def task_inputs(self) -> Any:
        return self._ids(self._look("task_seq_len", default=77))

    def visual_feats(self) -> Any:
        return _zeros(1, 36, self._look("visual_feat_dim", default=2048))

    def visual_pos(self) -> Any:
        return _zeros(1, 36, 4)

    def visual_embeds(self) -> Any:
        return _zeros(1, 36, self._look("visual_embedding_dim", default=512))

    def query_embeds(self) -> Any:
        return _zeros(1, 32, self._look("hidden_size", default=768))

    def encoder_hidden_states(self) -> Any:
        """Return features of an image, for a model that queries them; others go without."""
        width = getattr(self._config, "encoder_hidden_size", None)
        return _zeros(1, 257, width) if width and "query_embeds" in self._accepted else None

    def inputs(self) -> Any:
        ids = self._ids(self._look("max_position_embeddings", default=2048))
        return [ids, self._frame()[None], _zeros(1, 2048, self._look("d_model", default=768))]

    def image(self) -> Any:
        return _zeros(1, 3, 224, 224)

    def pixel_values_videos(self) -> Any:
        frames = self._look("num_frames", "frames_per_clip", default=FRAMES)
        return self._frame().repeat(frames, 1, 1, 1)[None]

    def image_sizes(self) -> Any:
        return value_tensor(torch.tensor([self._size()]))

    def hidden_states(self) -> Any:
        """Return an image as a list of patches."""
        patch = self._look("patch_size", default=14, first="vision")
        depth = self._look("temporal_patch_size", default=1, first="vision")
        channels = self._look("in_channels", "num_channels", "in_chans", default=3, first="vision")
        return _zeros(PATCHES * PATCHES, channels * depth * patch * patch)

    def grid_thw(self) -> Any:
        grid = torch.tensor([[1, PATCHES, PATCHES]])
        bind_grid(self._model, grid)
        return value_tensor(grid)

    image_grid_thw = grid_thw

    # Sound.

    def input_values(self) -> Any:
        wave = _zeros(1, SAMPLES)
        mels = self._look("num_mel_bins")
        if mels and not self._look("conv_dim"):
            return [_zeros(1, self._look("max_length", default=1024), mels), wave, wave[None]]
        return wave if hasattr(self._config, "conv_dim") else [wave[None], wave]

    def input_features(self) -> Any:
        mels = self._look(*_MELS, default=80, first="audio")
        length = 2 * self._look("max_source_positions", default=1500, first="audio")
        wide, tall = _zeros(1, mels, length), _zeros(1, 256, mels)
        options = [tall, wide, tall[None], wide[:, :, :256]]
        reader = next((m for m in self._model.modules() if isinstance(m, _READERS)), None)
        width = getattr(reader, "in_features", getattr(reader, "in_channels", mels))
        if isinstance(reader, nn.Conv1d) and width == mels:
            options[:2] = [wide, tall]
        elif isinstance(reader, nn.Linear) and width != mels:
            options[:0] = [_zeros(1, 256, width)]
        return options

    def input_features_mask(self) -> Any:
        return torch.ones(1, 256).long()

    def audio_mel(self) -> Any:
        return _zeros(1, 256, self._look("input_feat_size", default=128))

    def audio_mel_mask(self) -> Any:
        return torch.zeros(1, 256).bool()

    def latents(self) -> Any:
        width = self._look("hidden_size", default=512)
        return [_zeros(1, width, 32), _zeros(1, 32, width)]

    def decoder_input_values(self) -> Any:
        return _zeros(1, DECODER_TOKENS, self._look("num_mel_bins", default=80))

    # Series in time.

    def _steps(self) -> int:
        """Return how many past steps a forecast is made from."""
        lags = self._look("lags_sequence", default=[0])
        return int(self._look("context_length", default=64) + max(lags))

    def past_values(self) -> Any:
        width = self._look("num_input_channels", "input_size", default=1)
        series = _zeros(1, self._steps(), width)
        return [series[..., 0], series] if width == 1 else series

    def past_observed_mask(self) -> Any:
        values = self.past_values()
        return torch.ones_like(values[0] if isinstance(values, list) else values)

    def past_time_features(self) -> Any:
        return _zeros(1, self._steps(), self._look("num_time_features", default=0))

    def past_values_padding(self) -> Any:
        return _zeros(1, self._steps()).long()

    def freq(self) -> Any:
        return _zeros(1, 1).long()

    def future_values(self) -> Any:
        return _zeros(1, self._look("prediction_length", default=1))

    def future_time_features(self) -> Any:
        length = self._look("prediction_length", default=1)
        return _zeros(1, length, self._look("num_time_features", default=0))

    # Decisions.

    def states(self) -> Any:
        return _zeros(1, 20, self._look("state_dim", default=17))

    def actions(self) -> Any:
        return _zeros(1, 20, self._look("act_dim", default=4))

    def rewards(self) -> Any:
        return _zeros(1, 20, 1)

    returns_to_go = rewards

    def timesteps(self) -> Any:
        return torch.arange(20)[None]


def _zeros(*shape: int) -> torch.Tensor:
    """Return zeros with memory: models are built in a mode in which large tensors have none."""
    return torch.zeros(*shape, device="cpu")


def parts_of(config: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a configuration and those inside it, each with its name there."""
    yield name, config
    for key, value in list(vars(config).items()):
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            yield from parts_of(value, f"{name}.{key}")
