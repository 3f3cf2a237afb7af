"""GraphNet's tolerance levels, and the smallest level at which a tensor passes.

Level t lets an element differ from its reference r by ``atol + rtol·|r|`` with atol = 10^t and
rtol = 10^(c·t), c by dtype; for 64-bit floats both exponents are 1.4·t. Anything but floating-point
numbers must be equal.
"""

from __future__ import annotations

import torch

from graph_net.results import EQUAL, FAMILIES

LOWEST, HIGHEST = EQUAL, 16.0
"""Where the search for a level ends: equal below, nothing passes above."""
PRECISION = 1e-4
_SLOPES = {getattr(torch, name): slopes for name, slopes in FAMILIES.items()}
_SLOPES |= {
    torch.complex32: FAMILIES["float16"],
    torch.complex64: FAMILIES["float32"],
    torch.complex128: FAMILIES["float64"],
}


def tolerance(t: float, dtype: torch.dtype) -> tuple[float, float]:
    """Return absolute and relative tolerance of a level; (0, 0) for dtypes that must be equal."""
    if dtype not in _SLOPES:
        return 0.0, 0.0
    absolute, relative = _SLOPES[dtype]
    return 10.0 ** (absolute * t), 10.0 ** (relative * t)


def smallest_level(
    tensor: torch.Tensor, reference: torch.Tensor, dtype: torch.dtype | None = None
) -> float | None:
    """Return the smallest t at which ``tensor`` passes: LOWEST if equal, None if no t does.

    ``dtype`` chooses the tolerances if the tensors are wider than what is judged. Non-finite
    elements pass where the reference has the same.
    """
    if tensor.shape != reference.shape:
        return None
    if tensor.dtype not in _SLOPES:
        return LOWEST if torch.equal(tensor, reference) else None
    dtype = dtype or tensor.dtype
    wide = torch.complex128 if tensor.dtype.is_complex else torch.float64
    a, b = (side.detach().reshape(-1).to(wide) for side in (tensor, reference))
    differs = ~((a == b) | (a.isnan() & b.isnan()))
    error, size = (a - b).abs()[differs], b.abs()[differs]
    if not len(error):
        return LOWEST
    if not bool(error.isfinite().all()) or not bool(size.isfinite().all()):
        return None
    return _bisect(error, size, dtype)


def _bisect(error: torch.Tensor, size: torch.Tensor, dtype: torch.dtype) -> float | None:
    """Find the level by bisection; elements that pass at a lower bound are dropped."""

    def failing(t: float) -> torch.Tensor:
        absolute, relative = tolerance(t, dtype)
        return error > absolute + relative * size

    low, high = LOWEST, HIGHEST
    if bool(failing(high).any()):
        return None
    while high - low > PRECISION:
        middle = (low + high) / 2
        fails = failing(middle)
        if bool(fails.any()):
            low, error, size = middle, error[fails], size[fails]
        else:
            high = middle
    return high
