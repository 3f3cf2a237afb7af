"""What all products share: tiles, warps, stages, grouping, split-K, epilogues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.family import (
    BYTES,
    GRID,
    WORKSPACE,
    Buffer,
    Config,
    Family,
    Launch,
    cdiv,
    power_over,
)

if TYPE_CHECKING:
    import torch

ACTIVATIONS = ("relu", "relu6", "gelu", "silu")
DOT = 16
"""The smallest tile side that tensor cores support."""
SUM_BLOCK, SUM_WARPS = 1024, 4
"""Block size and warps of the kernel that adds split-K's parts; equal for all programs."""
THREAD_REGISTERS = 255
OVERHEAD = 24
"""Least registers of a thread besides accumulators."""
PARAMETERS = {
    "block_m": (16, 32, 64, 128, 256),
    "block_n": (16, 32, 64, 128, 256),
    "block_k": (16, 32, 64, 128),
    "num_warps": (1, 2, 4, 8, 16),
    "num_stages": (1, 2, 3, 4, 5, 6),
    "group_m": (1, 2, 4, 8, 16, 32),
    "split_k": (1, 2, 4, 8, 16),
}


@dataclass(frozen=True)
class Epilogue:
    """What is applied to a sum before it is stored, such as ``bias_add_relu``."""

    bias: bool = False
    add: bool = False
    activation: str = ""

    @classmethod
    def read(cls, text: str) -> Epilogue:
        """Parse a name: bias, add and an activation in this order, each optional, or none."""
        parts = [] if text == "none" else text.split("_")
        known = [*(p for p in ("bias", "add") if p in parts), *parts[-1:]]
        if parts and parts[-1] not in ACTIVATIONS:
            known = known[:-1]
        if parts != known:
            raise SpaceError(f"unknown epilogue {text!r}; bias, add, {', '.join(ACTIVATIONS)}")
        activation = parts[-1] if parts and parts[-1] in ACTIVATIONS else ""
        return cls("bias" in parts, "add" in parts, activation)

    @property
    def constants(self) -> dict[str, int | str | bool]:
        """The constants that kernels take."""
        return {"BIAS": self.bias, "ADD": self.add, "ACTIVATION": self.activation}

    def of(self, sums: torch.Tensor, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Apply the epilogue to sums with torch."""
        if self.bias:
            sums = sums + tensors["bias"].to(sums.dtype)
        return self.after_bias(sums, tensors)

    def after_bias(self, sums: torch.Tensor, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Apply the epilogue, without its bias, to sums with torch."""
        import torch.nn.functional as F

        if self.add:
            sums = sums + tensors["added"].to(sums.dtype)
        return sums if not self.activation else getattr(F, self.activation)(sums)


class Gemm(Family):
    """A product of M × K with K × N, a batch of products, or an operator computed as one."""

    source = "graph_net.programs.triton.kernels_gemm"
    dtypes: ClassVar[tuple[str, ...]] = ("float16", "bfloat16", "tf32")
    m: int
    n: int
    k: int
    """Length of the innermost sum, which one step of the loop traverses; excludes filter taps."""
    taps: int = 1
    batch: int = 1

    def __init__(self, module: Mapping[str, Any], target: Any) -> None:
        if not isinstance(module.get("epilogue"), str):
            raise SpaceError("a product has an epilogue")
        self.epilogue = Epilogue.read(module["epilogue"])
        super().__init__(module, target)

    @classmethod
    def options(cls) -> dict[str, tuple[Any, ...]]:
        return {"epilogue": ()}

    def parameters(self) -> dict[str, tuple[int, ...]]:
        return PARAMETERS

    def steps(self, config: Config) -> int:
        """Count the loop steps over the sum, of all parts together."""
        return self.taps * cdiv(self.k, config["block_k"])

    def blocks(self, config: Config) -> tuple[int, int]:
        """Return the number of tiles along rows and along columns."""
        return cdiv(self.m, config["block_m"]), cdiv(self.n, config["block_n"])

    def wrong(self, config: Config) -> str | None:
        return self._too_large(config) or self._misfit(config) or self._split(config)

    def _too_large(self, config: Config) -> str | None:
        threads = 32 * config["num_warps"]
        if (shared := self.shared(config)) > self.target.shared:
            return f"{shared} bytes of shared memory, {self.target.shared} there are"
        room = min(THREAD_REGISTERS, self.target.registers // threads) - OVERHEAD
        if (needed := self.per_thread(config)) > room:
            return f"{needed:g} accumulators a thread, {room} registers for them"
        return None

    def _misfit(self, config: Config) -> str | None:
        for side, size in (("block_m", self.m), ("block_n", self.n), ("block_k", self.k)):
            if config[side] < DOT:
                return f"{side} {config[side]} is under {DOT}, the least of a tensor core"
            if config[side] > max(DOT, power_over(size)):
                return f"{side} {config[side]} is more than the {size} there are"
        warp_tiles = cdiv(config["block_m"] * config["block_n"], DOT * 8)
        if config["num_warps"] > warp_tiles:
            return f"{config['num_warps']} warps for {warp_tiles} tiles of a tensor core"
        rows, _ = self.blocks(config)
        if config["group_m"] > 1 and config["group_m"] > rows:
            return f"groups of {config['group_m']} rows of tiles, {rows} there are"
        if config["num_stages"] > 1 and config["num_stages"] > self._part_steps(config):
            return "more stages than steps"
        return None

    def _part_steps(self, config: Config) -> int:
        return cdiv(self.steps(config), config["split_k"])

    def _split(self, config: Config) -> str | None:
        parts = config["split_k"]
        if parts > 1 and (parts - 1) * self._part_steps(config) >= self.steps(config):
            return f"{parts} parts of {self.steps(config)} steps: one has nothing to do"
        if (space := self.workspace(config)) is not None and space.bytes > WORKSPACE:
            return f"{space.bytes} bytes for the parts, {WORKSPACE} at most"
        if self.batch >= GRID:
            return f"a batch of {self.batch}, not under {GRID}"
        return None

    def shared(self, config: Config) -> int:
        """Return the bytes of the tiles in flight or of the result being stored, the larger."""
        return shared_bytes(config, BYTES[self.dtype])

    def per_thread(self, config: Config) -> float:
        return config["block_m"] * config["block_n"] / (32 * config["num_warps"])

    def traffic(self, config: Config) -> float:
        rows, columns = self.blocks(config)
        loaded = self.taps * self.k * (config["block_m"] + config["block_n"]) * BYTES[self.dtype]
        space = self.workspace(config)
        out = self.buffers()["out"].bytes
        return self.batch * rows * columns * loaded + out + (2 * space.bytes if space else 0)

    def flops(self) -> float:
        return 2.0 * self.batch * self.m * self.n * self.k * self.taps

    def workspace(self, config: Config) -> Buffer | None:
        if config["split_k"] == 1:
            return None
        return Buffer((config["split_k"], self.batch, self.m, self.n), "float32")

    def outer(self) -> dict[str, Buffer]:
        """Return the output, and the buffers that the epilogue reads."""
        buffers = {"out": Buffer(self.out_shape(), self.dtype)}
        if self.epilogue.bias:
            buffers["bias"] = Buffer((self.n,), self.dtype)
        if self.epilogue.add:
            buffers["added"] = Buffer(self.out_shape(), self.dtype)
        return buffers

    def out_shape(self) -> tuple[int, ...]:
        """Return the shape of the output; its last size is ``n``."""
        return (self.m, self.n)

    def product(
        self, kernel: str, inputs: tuple[str, str], sizes: Mapping[str, int | bool], config: Config
    ) -> tuple[Launch, ...]:
        """Return the kernel of the product, and for split-K the one that adds its parts."""
        parts = config["split_k"]
        rows, columns = self.blocks(config)
        bias = "bias" if self.epilogue.bias else "out"  # a placeholder, never read
        added = "added" if self.epilogue.add else "out"
        tile = {key.upper(): config[key] for key in ("block_m", "block_n", "block_k")}
        chosen = {**tile, "GROUP_M": config["group_m"], "SPLIT_K": parts}
        precision = "tf32" if self.dtype == "tf32" else "ieee"
        first = Launch(
            kernel,
            (rows * columns, parts, self.batch),
            (*inputs, bias, added, "out" if parts == 1 else "parts"),
            {**sizes, **self.epilogue.constants, "PRECISION": precision, **chosen},
            config["num_warps"],
            config["num_stages"],
        )
        if parts == 1:
            return (first,)
        total = self.batch * self.m * self.n
        return (first, sum_of_parts(total, self.n, parts, self.epilogue))


def shared_bytes(config: Config, each: int) -> int:
    """Estimate the bytes of shared memory of a block whose numbers have ``each`` bytes.

    Warp groups (four warps, 64 rows) multiply from shared memory, so their tiles stay there one
    stage longer than tiles that go through registers.
    """
    tiles = config["block_k"] * (config["block_m"] + config["block_n"]) * each
    grouped = config["num_warps"] % 4 == 0 and config["block_m"] >= 64
    held = max(1, config["num_stages"] - (not grouped))
    stored = 4 if config["split_k"] > 1 else each
    return max(tiles * held, config["block_m"] * config["block_n"] * stored)


def sum_of_parts(total: int, columns: int, parts: int, epilogue: Epilogue) -> Launch:
    """Return the kernel that adds the parts of a split sum and applies the epilogue."""
    return Launch(
        "add_parts",
        (cdiv(total, SUM_BLOCK), 1, 1),
        (
            "parts",
            "bias" if epilogue.bias else "out",
            "added" if epilogue.add else "out",
            "out",
        ),
        {
            "TOTAL": total,
            "N": columns,
            **epilogue.constants,
            "SPLIT_K": parts,
            "BLOCK": SUM_BLOCK,
        },
        SUM_WARPS,
        1,
    )
