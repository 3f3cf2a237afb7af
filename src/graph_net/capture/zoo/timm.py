"""timm: image models, every registered architecture at its published input size."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from graph_net.capture.zoo.zoo import Call, ZooEntry


class TimmZoo:
    """Every architecture timm registers."""

    library = "timm"

    def entries(self) -> Iterator[ZooEntry]:
        import timm

        for name in timm.list_models():
            family = timm.models.model_entrypoint(name).__module__.rpartition(".")[2]
            yield ZooEntry(self.library, name, "computer_vision", "classification", (family,))

    def build(self, entry: ZooEntry) -> Call:
        import timm

        model = timm.create_model(entry.name, pretrained=False).eval()
        size = model.pretrained_cfg.get("input_size", (3, 224, 224))
        return Call(model, (torch.zeros(1, *size),))
