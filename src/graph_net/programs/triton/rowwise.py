"""Operators along rows: softmax, layer norm, RMS norm and sums; memory-bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from graph_net.programs.triton.family import (
    BYTES,
    Buffer,
    Config,
    Family,
    Launch,
    cdiv,
    power_over,
)
from graph_net.programs.triton.gemm import Epilogue, sum_of_parts

if TYPE_CHECKING:
    import torch

MOST = 128
"""Most numbers of a block per thread; the results need as many registers again."""
PARAMETERS = {
    "block_rows": (1, 2, 4, 8, 16, 32),
    "block_columns": (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768),
    "num_warps": (1, 2, 4, 8, 16, 32),
    "num_stages": (1, 2, 3, 4),
    "per_program": (1, 2, 4, 8),
    "split_columns": (1, 2, 4, 8),
}


class Rowwise(Family):
    """An operator on each of ``rows`` rows of ``columns`` numbers."""

    kernels = ("softmax", "layer_norm", "rms_norm", "row_sum")
    sizes = ("rows", "columns")
    dtypes = ("float16", "bfloat16", "float32")
    source = "graph_net.programs.triton.kernels_rowwise"

    @property
    def kernel(self) -> str:
        """Name of the operator."""
        return str(self.module["kernel"])

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.module["rows"], self.module["columns"]

    def parameters(self) -> dict[str, tuple[int, ...]]:
        split = PARAMETERS["split_columns"] if self.kernel == "row_sum" else (1,)
        return {**PARAMETERS, "split_columns": split}

    def wrong(self, config: Config) -> str | None:
        rows, columns = self.size
        threads = 32 * config["num_warps"]
        block = config["block_rows"] * config["block_columns"]
        if config["block_columns"] > max(64, power_over(columns)):
            return f"block_columns {config['block_columns']} is more than the {columns} there are"
        if config["block_rows"] * config["per_program"] > power_over(rows):
            return f"more rows a program than the {rows} there are"
        if block < threads:
            return f"{threads} threads for {block} numbers"
        if (held := self.per_thread(config)) > MOST:
            return f"{held:g} numbers a thread, {MOST} at most"
        return self._loop(config) or self._limits(config)

    def _loop(self, config: Config) -> str | None:
        """Return what is wrong with a loop along a row; None if nothing is."""
        parts, steps = config["split_columns"], self.steps(config)
        if config["num_stages"] > 1 and config["num_stages"] > cdiv(steps, parts):
            return "more stages than steps"
        if parts > 1 and (parts - 1) * cdiv(steps, parts) >= steps:
            return f"{parts} parts of {steps} steps: one has nothing to do"
        return None

    def _limits(self, config: Config) -> str | None:
        if (needed := self.shared(config)) > self.target.shared:
            return f"{needed} bytes of shared memory, {self.target.shared} there are"
        return None

    def steps(self, config: Config) -> int:
        """Return the number of blocks that cover a row."""
        return cdiv(self.size[1], config["block_columns"])

    def shared(self, config: Config) -> int:
        block = config["block_rows"] * config["block_columns"] * BYTES[self.dtype]
        staged = block * (config["num_stages"] - 1)
        return staged + 4 * config["block_rows"] * config["num_warps"]

    def per_thread(self, config: Config) -> float:
        return config["block_rows"] * config["block_columns"] / (32 * config["num_warps"])

    def flops(self) -> float:
        each = {"softmax": 5.0, "layer_norm": 8.0, "rms_norm": 4.0, "row_sum": 1.0}
        return each[self.kernel] * self.size[0] * self.size[1]

    def traffic(self, config: Config) -> float:
        again = self.kernel != "row_sum" and self.steps(config) > 1
        return self.bytes() + (self.buffers()["x"].bytes if again else 0)

    def buffers(self) -> dict[str, Buffer]:
        whole = Buffer(self.size, self.dtype)
        row = Buffer(self.size[1:], self.dtype)
        match self.kernel:
            case "row_sum":
                return {"x": whole, "out": Buffer(self.size[:1], self.dtype)}
            case "layer_norm":
                return {"x": whole, "weight": row, "bias": row, "out": whole}
            case "rms_norm":
                return {"x": whole, "weight": row, "out": whole}
        return {"x": whole, "out": whole}

    def workspace(self, config: Config) -> Buffer | None:
        parts = config["split_columns"]
        return Buffer((parts, self.size[0]), "float32") if parts > 1 else None

    def launches(self, config: Config) -> tuple[Launch, ...]:
        rows, columns = self.size
        parts = config["split_columns"]
        constants: dict[str, int | str | bool] = {
            "ROWS": rows,
            "COLUMNS": columns,
            "BLOCK_ROWS": config["block_rows"],
            "BLOCK_COLUMNS": config["block_columns"],
            "PER_PROGRAM": config["per_program"],
            "STAGES": config["num_stages"],
        }
        names: tuple[str, ...] = ("x", "out")
        kernel = self.kernel
        if kernel == "row_sum":
            constants["SPLIT"] = parts
            names = ("x", "out" if parts == 1 else "parts")
        elif kernel != "softmax":
            constants["CENTRED"] = kernel == "layer_norm"
            names = ("x", "weight", "bias" if kernel == "layer_norm" else "weight", "out")
            kernel = "norm"
        programs = cdiv(rows, config["block_rows"] * config["per_program"])
        grid = (programs, parts, 1)
        first = Launch(kernel, grid, names, constants, config["num_warps"], config["num_stages"])
        return (first,) if parts == 1 else (first, sum_of_parts(rows, rows, parts, Epilogue()))

    def reference(self, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        import torch
        import torch.nn.functional as F

        x = tensors["x"]
        match self.kernel:
            case "softmax":
                return torch.softmax(x, dim=-1)
            case "row_sum":
                return x.sum(dim=-1)
            case "rms_norm":
                return F.rms_norm(x, self.size[1:], tensors["weight"], eps=1e-5)
        return F.layer_norm(x, self.size[1:], tensors["weight"], tensors["bias"], eps=1e-5)
