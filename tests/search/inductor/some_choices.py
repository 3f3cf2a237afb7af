"""A small model of choices, trained on a formula, and operations to ask it about."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import lightgbm
import numpy as np
import torch

from graph_net.programs.triton.target import H200
from graph_net.search.inductor.choice_model import ChoiceModel, model_of, tile_rows
from graph_net.search.inductor.choice_rule import ChoiceRule, KernelRule
from graph_net.search.inductor.drawing import estimated_cycles
from graph_net.search.inductor.template_call import Operand, TemplateCall
from graph_net.search.inductor.tile import Tile

TILES = tuple(
    Tile(rows, columns, depth, 8, stages, warps)
    for rows, columns, depth in product((16, 64, 128), (32, 128), (32, 64))
    for stages, warps in ((2, 4), (4, 4), (3, 8))
)
KERNEL = KernelRule(
    dtypes=("bfloat16", "float16"),
    lows=(4.0, 4.0, 4.0, 1.0, 1.0, 1.0),
    highs=(14.0, 14.0, 14.0, 1.0, 10.0, 1.0),
    margin=0.05,
    doubt=1.0,
    most=8,
)
KERNELS = ("batched_matmul", "matmul")
RULE = ChoiceRule(arch="sm_90", kernels=dict.fromkeys(KERNELS, KERNEL), members=2)


def product_call(m: int = 512, n: int = 1024, k: int = 768, **other: object) -> TemplateCall:
    """Return a product of bfloat16 matrices, the second one transposed."""
    left = Operand((m, k), (k, 1), "bfloat16")
    right = Operand((k, n), (1, k), "bfloat16")
    return replace(TemplateCall("mm", (left, right), "cuda"), **other)  # type: ignore[arg-type]


@cache
def some_texts() -> tuple[str, ...]:
    """Return two members that have learned a roofline's cycles of three products."""
    calls = [
        product_call(512, 1024, 768),
        product_call(32, 4096, 1024),
        product_call(4096, 512, 64),
    ]
    families = [family for call in calls if (family := call.family(H200)) is not None]
    rows = np.concatenate([tile_rows(family, TILES) for family in families])
    targets = np.concatenate([-np.log(estimated_cycles(family, TILES)) for family in families])
    options = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 2, "bagging_fraction": 0.7}
    return tuple(
        lightgbm.train(
            {**options, "bagging_freq": 1, "seed": seed}, lightgbm.Dataset(rows, targets), 60
        ).model_to_string()
        for seed in range(2)
    )


def some_model(*more: str, device: str = "cuda", **changed: object) -> ChoiceModel:
    """Return the model, with fields of its kernels' rules changed, for its kernels and more."""
    kernel = replace(KERNEL, **changed)  # type: ignore[arg-type]
    kernels = dict.fromkeys([*KERNELS, *more], kernel)
    return model_of(replace(RULE, kernels=kernels, device=device), some_texts())


def node(*sizes: int, dtype: torch.dtype = torch.bfloat16, device: str = "cuda") -> Any:
    """Return a tensor as Inductor's nodes show themselves."""
    given = torch.empty(sizes, dtype=dtype, device="meta")
    return SimpleNamespace(
        get_size=lambda: list(sizes),
        get_stride=lambda: list(given.stride()),
        get_dtype=lambda: dtype,
        get_device=lambda: torch.device(device),
    )
