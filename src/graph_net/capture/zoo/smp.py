"""segmentation-models-pytorch: every decoder with every encoder that the two allow."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from graph_net.capture.zoo.zoo import Call, ZooEntry

_SIDE = 256
_DILATED = frozenset({"deeplabv3", "deeplabv3plus", "pan"})
"""Decoders that need a dilated encoder."""
_NO_MIX_TRANSFORMER = frozenset({"linknet", "unetplusplus"})
_UNIVERSAL_ONLY = "dpt"
_UNIVERSAL = "tu-vit_base_patch16_224.augreg_in21k"
"""The one decoder that takes only timm's encoders, and its default encoder."""


class SegmentationModelsZoo:
    """Every decoder of segmentation-models-pytorch on each of its own encoders.

    The universal encoders (``tu-…``) are timm's, and left out.
    """

    library = "segmentation_models_pytorch"

    def entries(self) -> Iterator[ZooEntry]:
        import segmentation_models_pytorch as smp

        for decoder in smp.MODEL_ARCHITECTURES_MAPPING:
            for encoder in smp.encoders.get_encoder_names():
                if decoder != _UNIVERSAL_ONLY and _fits(decoder, encoder):
                    yield self._entry(decoder, encoder)
        yield self._entry(_UNIVERSAL_ONLY, _UNIVERSAL)

    def build(self, entry: ZooEntry) -> Call:
        import segmentation_models_pytorch as smp

        decoder, encoder = entry.tags
        model = smp.create_model(decoder, encoder_name=encoder, encoder_weights=None)
        side = 224 if decoder == _UNIVERSAL_ONLY else _SIDE
        return Call(model.eval(), (torch.zeros(1, 3, side, side, device="cpu"),))

    def _entry(self, decoder: str, encoder: str) -> ZooEntry:
        name = f"{decoder}-{encoder}"
        return ZooEntry(self.library, name, "computer_vision", "segmentation", (decoder, encoder))


def _fits(decoder: str, encoder: str) -> bool:
    """Return whether the library accepts the pair; it refuses some in the constructor."""
    from segmentation_models_pytorch.encoders import _base, encoders

    if decoder in _NO_MIX_TRANSFORMER and encoder.startswith("mit_"):
        return False
    # An encoder overrides this method only to say that it cannot be dilated.
    dilates = encoders[encoder]["encoder"].make_dilated is _base.EncoderMixin.make_dilated
    return decoder not in _DILATED or dilates
