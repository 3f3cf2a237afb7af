"""Read Inductor's objects: nodes as a TemplateCall, choices as tiles and TimedChoices."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from graph_net.programs.triton.family import power_over
from graph_net.search.inductor.families import FLEX
from graph_net.search.inductor.queued_timing import HostTime
from graph_net.search.inductor.template_call import (
    CONVOLUTION,
    ConvolutionOptions,
    Operand,
    TemplateCall,
)
from graph_net.search.inductor.tile import Tile
from graph_net.search.inductor.timed_call import ATEN, OTHER, TRITON, TimedChoice

DEFAULT = "graph_net_default"
"""Annotation of a choice: whether Inductor tries it by default."""
_TILE = re.compile(r"\((\d+), (-1|\d+), (\d+)\)")
_FLEX_FORWARD = re.compile(r"(triton_)?flex_attention_\d+")


def read_call(op: str, nodes: Sequence[Any], choices: Sequence[Any] = ()) -> TemplateCall | None:
    """Return the operation on IR nodes; None if a size is not a number."""
    read = nodes[:3] if op == FLEX else nodes
    operands = [_operand(node) for node in read]
    device, masks = nodes[0].get_device(), _masks(nodes) if op == FLEX else False
    if device is None or masks is None or any(operand is None for operand in operands):
        return None
    known = tuple(operand for operand in operands if operand is not None)
    options = _convolution(op, choices)
    return TemplateCall(op, known, device.type, _allows_tf32(op), options, masks)


def _allows_tf32(op: str) -> bool:
    """Return whether torch may multiply float32 as TF32.

    Its older setting, ``allow_tf32``, cannot be read once the newer one was changed.
    """
    import torch

    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    settings: Any = cudnn.conv if op == CONVOLUTION else cuda.matmul  # type: ignore[attr-defined]
    return bool(settings.fp32_precision == "tf32")


def _masks(nodes: Sequence[Any]) -> bool | None:
    """Return whether flex attention gets a mask of several blocks of queries; None if unknown."""
    counts = [node for node in nodes if str(node.get_dtype()) == "torch.int32"]
    if not counts:
        return False
    sizes = _numbers(counts[0].get_size())  # images, heads, blocks of queries
    return None if sizes is None else sizes[-1] > 1


def _operand(node: Any) -> Operand | None:
    sizes, strides = _numbers(node.get_size()), _numbers(node.get_stride())
    if sizes is None or strides is None:
        return None
    return Operand(sizes, strides, str(node.get_dtype()).removeprefix("torch."))


def _numbers(values: Sequence[Any]) -> tuple[int, ...] | None:
    """Return sizes as integers; None if one is symbolic."""
    found = []
    for value in values:
        if not isinstance(value, int) and not getattr(value, "is_Integer", False):
            return None
        found.append(int(value))
    return tuple(found)


def _convolution(op: str, choices: Sequence[Any]) -> ConvolutionOptions | None:
    """Return the arguments of a convolution, from its ATen choice."""
    if op != CONVOLUTION:
        return None
    for choice in choices:
        given = getattr(choice, "kwargs", None)
        if isinstance(given, dict) and {"stride", "padding", "dilation"} <= given.keys():
            stride, padding, dilation = (
                tuple(map(int, given[name])) for name in ("stride", "padding", "dilation")
            )
            transposed, groups = bool(given["transposed"]), int(given["groups"])
            return ConvolutionOptions(stride, padding, dilation, transposed, groups)
    return None


def tile_of(choice: Any) -> Tile | None:
    """Return the tile of a ChoiceCaller of a Triton template; None for every other choice."""
    if not hasattr(choice, "bmreq") or not hasattr(choice, "info_dict"):
        return None
    info = choice.info_dict()
    found = _TILE.fullmatch(str(info.get("tile_shape", "")))
    if found is None or info.get("backend") != "Triton":
        return None
    rows, depth, columns = map(int, found.groups())
    if depth < 0:
        if not is_flex_attention(str(choice.name)):
            return None
        value = choice.input_nodes[2].get_size()[-1]
        depth, columns = columns, power_over(int(value))
    sides = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": depth}
    chosen = {name: info.get(name) for name in ("num_stages", "num_warps")}
    return Tile.of({**sides, **chosen, "GROUP_M": max(info.get("GROUP_M", 1), 1)})


def is_flex_attention(name: str) -> bool:
    """Return whether a choice of this name is the forward template of flex attention."""
    return _FLEX_FORWARD.fullmatch(name) is not None


def template_tile(choice: Any) -> Tile | None:
    """Return the tile of a KernelTemplateChoice, before code is generated."""
    return Tile.of(choice.params.to_kwargs())


def exhaustive(
    choices: Any,
    kernel_inputs: Any,
    templates: Sequence[Any],
    op_name: str,
    overrides: Mapping[str, Mapping[str, Any]],
) -> list[Any]:
    """Return what templates offer in Inductor's exhaustive space, before code generation."""
    from torch._inductor import config

    found: list[Any] = []
    with config.patch(max_autotune_gemm_search_space="EXHAUSTIVE"):
        for template in templates:
            given = dict(overrides.get(template.uid, {}))
            found += choices.get_ktc(kernel_inputs, template, op_name, given)
    return found


def read_choice(choice: Any, milliseconds: float | None, compiled: float | None) -> TimedChoice:
    """Return a ChoiceCaller with its time."""
    ran = milliseconds is not None and 0 < milliseconds < math.inf
    tile = tile_of(choice)
    return TimedChoice(
        kind=TRITON if tile is not None else ATEN if is_aten(choice) else OTHER,
        name=template_name(choice),
        milliseconds=round(float(milliseconds), 6) if ran and milliseconds is not None else None,
        tile=tile,
        default=bool(getattr(choice, "annotations", {}).get(DEFAULT, True)),
        compiled=None if compiled is None else round(compiled, 3),
        by_host=isinstance(milliseconds, HostTime),
    )


def is_aten(choice: Any) -> bool:
    """Return whether a choice calls a library kernel, which is always kept."""
    from torch._inductor.select_algorithm import ExternKernelCaller

    return isinstance(choice, ExternKernelCaller)


def template_name(choice: Any) -> str:
    """Return a choice's name without the number that Inductor gives it."""
    return re.sub(r"_\d+$", "", str(getattr(choice, "name", type(choice).__name__)))
