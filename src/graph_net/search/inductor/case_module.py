"""CaseModule: the operands of a case on a device, and the call that computes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graph_net.search.inductor.case import KernelCase
from graph_net.search.inductor.families import FLEX, PAIR, SCALED
from graph_net.search.inductor.template_call import CONVOLUTION

if TYPE_CHECKING:
    import torch


class CaseModule:
    """The operands of a case on a device, and the call that computes it."""

    def __init__(self, case: KernelCase, device: str) -> None:
        self.module = case.parsed
        self.device = device
        self.kernel = case.kernel
        dtype = self.module["dtype"]
        self.dtype = "float32" if dtype == "tf32" else dtype
        self.mask = self._causal_mask()  # made here: a compiler would trace it in ``call``

    def operands(self) -> list[torch.Tensor]:
        """Return the tensors: the left factor, the image or the query first, then the others."""
        if self.kernel == CONVOLUTION:
            return self._image_and_filter()
        if self.kernel == FLEX:
            return self._attention_operands()
        if self.kernel == PAIR:
            return [*self._factors(), *self._factors()]
        if self.kernel == SCALED:
            return [*self._factors(), *self._scales(), *self._added("bfloat16")]
        return [*self._factors(), *self._added(self.dtype)]

    def call(self, operands: Sequence[torch.Tensor]) -> torch.Tensor:
        """Compute the case as a network calls it."""
        import torch

        if self.kernel == CONVOLUTION:
            image, weight = operands
            stride, pad = self.module["stride"], self.module["pad"]
            return torch.nn.functional.conv2d(image, weight, stride=stride, padding=pad)
        if self.kernel == FLEX:
            return self._attend(*operands)
        left, right, *rest = operands
        right = right.mT if self.module["transposed"] else right
        if self.kernel == PAIR:
            first, second = rest
            second = second.mT if self.module["transposed"] else second
            return torch.mm(left, right) + torch.mm(first, second)
        if self.kernel == SCALED:
            scale, other, *bias = rest
            added = bias[0] if bias else None
            return torch._scaled_mm(
                left, right, scale, other, added, None, torch.bfloat16, use_fast_accum=True
            )
        if rest:
            add = torch.baddbmm if "b" in self.module else torch.addmm
            return add(rest[0], left, right)
        return torch.bmm(left, right) if "b" in self.module else torch.mm(left, right)

    def _causal_mask(self) -> Any:
        """Return the blocks of earlier keys that each block of queries reads; None if all are."""
        from torch.nn.attention.flex_attention import create_block_mask

        if not self.module.get("masked", False):
            return None
        queries, keys = self.module["m"], self.module["k"]
        return create_block_mask(
            lambda batch, head, query, key: query >= key, None, None, queries, keys, self.device
        )

    def _attend(self, *operands: torch.Tensor) -> torch.Tensor:
        from torch.nn.attention.flex_attention import flex_attention

        query, key, value = operands
        shares = self.module["shared"] > 1
        return flex_attention(query, key, value, block_mask=self.mask, enable_gqa=shares)

    def _attention_operands(self) -> list[torch.Tensor]:
        module = self.module
        heads, width = module["b"], module["d"]
        own = heads // module["shared"]
        return [
            self._random(1, heads, module["m"], width),
            self._random(1, own, module["k"], width),
            self._random(1, own, module["k"], module["n"]),
        ]

    def _image_and_filter(self) -> list[torch.Tensor]:
        module = self.module
        image = self._random(module["n"], module["h"], module["w"], module["c"])
        weight = self._random(module["k"], module["r"], module["s"], module["c"])
        return [image.permute(0, 3, 1, 2), weight.permute(0, 3, 1, 2)]

    def _factors(self) -> list[torch.Tensor]:
        module = self.module
        batch = (module["b"],) if "b" in module else ()
        columns, depth = module["n"], module["k"]
        inner = (columns, depth) if module["transposed"] else (depth, columns)
        return [self._random(*batch, module["m"], depth), self._random(*batch, *inner)]

    def _scales(self) -> list[torch.Tensor]:
        """Return a scale of each row of the first factor, and of each column of the second."""
        import torch

        sizes = ((self.module["m"], 1), (1, self.module["n"]))
        return [torch.rand(size, device=self.device) + 0.5 for size in sizes]

    def _added(self, dtype: str) -> list[torch.Tensor]:
        module = self.module
        batch = (module["b"],) if "b" in module else ()
        sizes = {"bias": (module["n"],), "add": (*batch, module["m"], module["n"])}
        size = sizes.get(module["epilogue"])
        return [] if size is None else [self._random(*size, dtype=dtype)]

    def _random(self, *sizes: int, dtype: str = "") -> torch.Tensor:
        import torch

        return torch.randn(sizes, device=self.device).to(getattr(torch, dtype or self.dtype))
