"""diffusers: denoisers, autoencoders and control networks at their default sizes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.diffusers_sizes import OPTIONS, SHAPES
from graph_net.capture.zoo.zoo import Call, ZooEntry

_SIDE, _FRAMES, _TEXT, _TOKENS = 32, 5, 64, 256
_KINDS = {
    "autoencoders": "autoencoder",
    "controlnets": "control network",
    "condition_embedders": "condition embedder",
    "latent_upscaler": "upscaler",
    "adapter": "adapter",
}
_LEFT_OUT = ("Multi", "ModelMixin", "MotionAdapter", "ControlNetXSAdapter")
"""Wrappers of several models, and parts that cannot be called alone."""
_AUDIO = ("Audio", "Music", "Oobleck", "Vocoder", "AceStep", "T5Film", "UNet1D", "SAME")
_VIDEO = (
    *("Allegro", "CogVideoX", "Cosmos", "HunyuanVideo", "HunyuanImageRefiner", "LTX", "Magvit"),
    *("MiniMaxH3", "Mochi", "QwenImage", "Wan", "VidTok", "Kandinsky6", "KVAEVideo", "3D"),
)
_TEXT_WIDTHS = (
    *("joint_attention_dim", "caption_channels", "text_embed_dim", "text_dim", "context_in_dim"),
    *("encoder_hidden_states_channels", "cap_feat_dim", "in_text_dim", "llm_features_dim"),
    *("text_hidden_dim", "cond_token_dim", "cross_attention_input_dim", "dit_text_dim"),
    *("encoder_hid_dim", "cross_attention_dim", "condition_dim", "encoder_hidden_size"),
    *("embedding_dim", "hidden_size"),
)
_WIDTHS = ("in_channels", "in_visual_dim", "io_channels", "latent_dim", "in_dim", "embedding_dim")


class DiffusersZoo:
    """Every model class of diffusers with its default sizes and a small input."""

    library = "diffusers"

    def entries(self) -> Iterator[ZooEntry]:
        import diffusers

        for name in diffusers._import_structure["models"]:
            maker = getattr(diffusers, name)
            left_out = any(part in name for part in _LEFT_OUT)
            if left_out or not (inspect.isclass(maker) and issubclass(maker, nn.Module)):
                continue
            folder = maker.__module__.split(".")[2]
            yield ZooEntry(
                self.library, name, _category(name, maker), _KINDS.get(folder, "diffusion")
            )

    def build(self, entry: ZooEntry) -> Call:
        import diffusers

        model: nn.Module = getattr(diffusers, entry.name)(**OPTIONS.get(entry.name, {}))
        return Call(model.eval(), (), _Inputs(entry.name, model).make())


def _category(name: str, maker: type[nn.Module]) -> str:
    if name.startswith("RFD4"):
        return "scientific"
    if any(part in name for part in _AUDIO):
        return "audio"
    with_text = "encoder_hidden_states" in inspect.signature(maker.forward).parameters
    return "multimodal" if with_text else "computer_vision"


def _make_tensors(shape: Any) -> Any:
    """Return a tensor of this shape, or a list of them."""
    if isinstance(shape, list):
        return [_make_tensors(item) for item in shape]
    if shape is None:
        return None
    if shape[0] < 0:
        return torch.ones(1, *shape[1:], dtype=torch.int64)
    return torch.zeros(*shape, device="cpu")


class _Inputs:
    """Makes the arguments of a call from their names and the model's configuration."""

    def __init__(self, name: str, model: nn.Module) -> None:
        self.name = name
        self.config: Mapping[str, Any] = getattr(model, "config", {})
        self.parameters = inspect.signature(model.forward).parameters
        self.packed = bool(self.parameters.keys() & {"img_ids", "img_shapes", "position_ids"})
        self.packed |= "LTX" in name and "Transformer" in name

    def make(self) -> dict[str, Any]:
        """Return the arguments by name: required ones, and optional ones the model needs."""
        arguments: dict[str, Any] = {}
        for key, parameter in self.parameters.items():
            if key == "return_dict":
                arguments[key] = False
            elif key in SHAPES.get(self.name, {}):
                arguments[key] = _make_tensors(SHAPES[self.name][key])
            elif key not in ("args", "kwargs") and (
                parameter.default is parameter.empty or self.needs(key)
            ):
                arguments[key] = self.value(key)
        return arguments

    def needs(self, key: str) -> bool:
        """Return whether the model fails without this optional argument."""
        if key == "guidance":
            return bool(self.config.get("guidance_embeds"))
        if key == "pooled_projections":
            return self.config.get("pooled_projection_dim") is not None
        if key == "class_labels":
            return self.name == "DiTTransformer2DModel"
        return key in _NEEDED

    def width(self, keys: tuple[str, ...], default: int) -> int:
        """Return the first of these entries that the configuration has."""
        for key in keys:
            value = self.config.get(key)
            value = value[0] if isinstance(value, (list, tuple)) else value
            if isinstance(value, int):
                return value
        return default

    def value(self, key: str) -> Any:
        """Return the value of one argument."""
        if key in ("hidden_states", "sample", "x", "latents", "controlnet_cond", "z", "mel"):
            return torch.zeros(*self.shape(key), device="cpu")
        if key.startswith("timestep") or key in ("t", "r_timestep", "guidance", "fps"):
            return torch.ones(1)
        if key in ("img_ids", "txt_ids", "position_ids"):
            count = _TEXT if key == "txt_ids" else _TOKENS
            axes = self.config.get("axes_dims_rope") or (0, 0, 0)
            return torch.zeros(count, len(axes))
        if key.endswith("mask"):
            return torch.ones(1, _TEXT, dtype=torch.bool)
        if key in ("img_shapes", "num_frames", "height", "width", "audio_num_frames"):
            grid = {"num_frames": 1, "height": 16, "width": 16, "audio_num_frames": 64}
            return grid.get(key, [[(1, 16, 16)]])
        if key in ("original_size", "target_size", "crop_coords"):
            return torch.full((1, 2), 256.0)
        if key in ("pooled_projections", "pooled_text_emb", "clip_text_pooled"):
            return torch.zeros(1, self.width(("pooled_projection_dim", "in_text_dim2"), 768))
        if key == "class_labels":
            return torch.ones(1, dtype=torch.int64)
        return torch.zeros(1, _TEXT, self.width(_TEXT_WIDTHS, 768), device="cpu")

    def shape(self, key: str) -> tuple[int, ...]:
        """Return the shape of the tensor that is denoised, encoded or conditioned on."""
        autoencoder = "sample" in self.parameters and "timestep" not in self.parameters
        width = self.width(_WIDTHS, 3 if autoencoder else 4)
        audio = any(part in self.name for part in _AUDIO)
        if self.packed:
            return (1, _TOKENS, width)
        if key == "controlnet_cond":
            return (1, self.width(("conditioning_channels",), width), _SIDE * 8, _SIDE * 8)
        if audio:
            return (1, width, 16384 if autoencoder else _TOKENS)
        side = _SIDE * 8 if autoencoder else _SIDE
        if any(part in self.name for part in _VIDEO):
            return (1, width, _FRAMES, side // 2, side // 2)
        return (1, width, side, side)


_NEEDED = frozenset(
    {
        *("timestep", "timesteps", "encoder_hidden_states", "img_ids", "txt_ids", "img_shapes"),
        *("num_frames", "height", "width", "encoder_hidden_states_mask", "audio_num_frames"),
    }
)
