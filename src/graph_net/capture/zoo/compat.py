"""Ways round what keeps a zoo from being imported beside a CPU build of torch."""

from __future__ import annotations

from functools import cache

import torch

_NMS = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


@cache
def torchvision_operators() -> torch.library.Library | None:
    """Declares the two operators without which a CUDA build of torchvision does not import.

    Call it before importing torchvision, timm or transformers; the library is kept alive by the
    cache. Where the operators exist already nothing is done.
    """
    try:
        torch.ops.torchvision.nms.default  # noqa: B018 - looked up for whether it is there
        return None
    except AttributeError:
        library = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
        for name in ("nms", "qnms"):
            library.define(f"{name}{_NMS}")  # type: ignore[no-untyped-call]
        return library
