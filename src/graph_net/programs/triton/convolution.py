"""Convolutions of images as products, without a copy of the image (implicit GEMM)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.family import Buffer, Config, Launch
from graph_net.programs.triton.gemm import Gemm

if TYPE_CHECKING:
    import torch


class Convolution(Gemm):
    """``n`` images of ``h`` × ``w`` × ``c``, ``k`` filters of ``r`` × ``s``, channels last."""

    kernels = ("convolution",)
    sizes = ("n", "h", "w", "c", "k", "r", "s", "stride")

    @classmethod
    def options(cls) -> dict[str, tuple[Any, ...]]:
        return {**super().options(), "pad": (0, 1, 2, 3, 4, 5)}

    def check(self) -> None:
        module = self.module
        self.p = (module["h"] + 2 * module["pad"] - module["r"]) // module["stride"] + 1
        self.q = (module["w"] + 2 * module["pad"] - module["s"]) // module["stride"] + 1
        if self.p < 1 or self.q < 1:
            raise SpaceError("a filter that is larger than the image")
        self.m, self.n = module["n"] * self.p * self.q, module["k"]
        self.k, self.taps = module["c"], module["r"] * module["s"]

    def out_shape(self) -> tuple[int, ...]:
        return (self.module["n"], self.p, self.q, self.n)

    def buffers(self) -> dict[str, Buffer]:
        module = self.module
        deviation = (self.k * self.taps) ** -0.5
        return {
            "x": Buffer((module["n"], module["h"], module["w"], module["c"]), self.dtype),
            "w": Buffer(
                (module["k"], module["r"], module["s"], module["c"]), self.dtype, deviation
            ),
            **self.outer(),
        }

    def launches(self, config: Config) -> tuple[Launch, ...]:
        module = self.module
        sizes = {"IMAGES": module["n"], "H": module["h"], "W": module["w"], "C": module["c"]}
        sizes |= {"P": self.p, "Q": self.q, "N": self.n, "R": module["r"], "S": module["s"]}
        sizes |= {"STRIDE": module["stride"], "PAD": module["pad"]}
        return self.product("convolution", ("x", "w"), sizes, config)

    def reference(self, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        import torch.nn.functional as F

        x, w = (tensors[name].permute(0, 3, 1, 2) for name in "xw")
        sums = F.conv2d(x, w, stride=self.module["stride"], padding=self.module["pad"])
        return self.epilogue.of(sums.permute(0, 2, 3, 1), tensors)

    def eager(self, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Add the bias in the convolution's own call."""
        import torch.nn.functional as F

        x, w = (tensors[name].permute(0, 3, 1, 2) for name in "xw")
        stride, pad = self.module["stride"], self.module["pad"]
        sums = F.conv2d(x, w, tensors.get("bias"), stride=stride, padding=pad)
        return self.epilogue.after_bias(sums.permute(0, 2, 3, 1), tensors)
