"""open_clip: image-text models, every configuration that comes with the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.zoo import Call, ZooEntry


class OpenClipZoo:
    """Every configuration of open_clip, at its own image size and context length.

    Those whose text tower is a model of the Hugging Face hub are left out: open_clip reads its
    configuration from there, and a zoo downloads nothing.
    """

    library = "open_clip"

    def entries(self) -> Iterator[ZooEntry]:
        import open_clip

        for name in open_clip.list_models():
            config = open_clip.get_model_config(name)
            if "hf_model_name" in config["text_cfg"]:
                continue
            kind = "image captioning" if "multimodal_cfg" in config else "image-text"
            yield ZooEntry(self.library, name, "multimodal", kind, (name.partition("-")[0],))

    def build(self, entry: ZooEntry) -> Call:
        import open_clip

        config = open_clip.get_model_config(entry.name)
        side = config["vision_cfg"].get("image_size", 224)
        height, width = side if isinstance(side, (list, tuple)) else (side, side)
        length = config["text_cfg"].get("context_length", 77)
        image = torch.zeros(1, 3, height, width, device="cpu")
        text = torch.ones(1, length, dtype=torch.int64)
        return Call(_model(config).eval(), (image, text))


def _model(config: dict[str, Any]) -> nn.Module:
    """Build what ``open_clip.create_model`` would, without moving it to a device."""
    import open_clip

    custom = config.pop("custom_text", False)
    maker = open_clip.CustomTextCLIP if custom else open_clip.CLIP
    model: nn.Module = (open_clip.CoCa if "multimodal_cfg" in config else maker)(**config)
    return model
