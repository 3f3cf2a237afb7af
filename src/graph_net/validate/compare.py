"""The difference of two runs of one computation."""

from __future__ import annotations

from typing import Any

import torch

from graph_net.graph.execute import flat_outputs
from graph_net.printable import count_phrase

TOLERANCE = {
    torch.float64: 1e-12,
    torch.complex128: 1e-12,
    torch.float32: 1e-5,
    torch.complex64: 1e-5,
    torch.float16: 1e-2,
    torch.bfloat16: 2e-2,
}
"""The share of the largest value that a library's choice of kernel may change; other dtypes must be
equal."""


def largest_difference(expected: Any, got: Any) -> tuple[float, str]:
    """Return the largest difference of two nests of outputs, and what is wrong, if anything.

    It is relative to the largest finite value of each output. Shapes, dtypes and the positions of
    NaN and infinity must be equal.
    """
    left, right = flat_outputs(expected), flat_outputs(got)
    if len(left) != len(right):
        return 0.0, f"{count_phrase(len(right), 'output')} instead of {len(left)}"
    largest, wrong = 0.0, ""
    for position, (a, b) in enumerate(zip(left, right, strict=True)):
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            same = type(a) is type(b) and (a == b or a != a)
            wrong = wrong or (
                "" if same else f"output {position} is {b!r:.40} instead of {a!r:.40}"
            )
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            return largest, (
                f"output {position} is {b.dtype} {tuple(b.shape)} "
                f"instead of {a.dtype} {tuple(a.shape)}"
            )
        part, reason = _tensor_difference(a, b)
        largest = max(largest, part)
        wrong = wrong or (f"output {position} {reason}" if reason else "")
    return largest, wrong


def _tensor_difference(a: torch.Tensor, b: torch.Tensor) -> tuple[float, str]:
    a, b = a.detach(), b.detach()
    if a.is_sparse or a.numel() == 0 or torch.equal(a, b):
        return 0.0, ""
    if a.dtype not in TOLERANCE:
        count = int((a != b).sum())
        return 1.0, f"has {count} of {a.numel()} values that differ"
    wide = torch.complex128 if a.is_complex() else torch.float64
    x, y = a.to(wide), b.to(wide)
    finite = torch.isfinite(x)
    if not torch.equal(finite, torch.isfinite(y)) or not torch.equal(x.isnan(), y.isnan()):
        return 1.0, "has NaN or infinity at other positions"
    x, y = x[finite], y[finite]
    if x.numel() == 0:
        return 0.0, ""
    scale = float(x.abs().max()) or 1.0
    part = float((x - y).abs().max()) / scale
    most = TOLERANCE[a.dtype]
    return part, f"differs by {part:.1e} of its largest value; at most {most:.0e}" * (part > most)
