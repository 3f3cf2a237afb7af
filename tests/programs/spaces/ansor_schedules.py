"""Three schedules of real records (K80), with what they mean worked out by hand beside each."""

from __future__ import annotations

import json
from typing import Any

CONVOLUTION = '["conv2d_layer", 128, 1008, 21, 21, 168, 1, 1, 1, "SAME"]'
"""Images (128, 1008, 21, 21), filters (168, 1008, 1, 1), outputs (128, 168, 21, 21)."""
DEPTHWISE = '["depthwise_conv2d_layer", 128, 168, 42, 42, 3, 3, 1, "SAME"]'
MATMUL = '["matmul_layer", 128, 4032, 1000]'

_SPACE = [0, 5, 10, 15, 1, 6, 11, 16, 2, 7, 12, 17]
_FOUR = [0, 1, 2, 3]
_OUTPUT = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]


def _cooperative(stage: int, axes: int, fetched: int, vector: int) -> list[Any]:
    """The steps that share the copy of an input out among the threads."""
    return [
        ["FU", stage, list(range(axes))],
        ["SP", stage, 0, fetched, [vector], 1],
        ["AN", stage, 1, 2],
        ["FFSP", stage, 0, list(range(axes, 0, -1)), 1, 1],
        ["AN", stage, 1, 6],
    ]


def _bound(stage: int, axes: int) -> list[Any]:
    """The steps that bind the outer loops to blocks, virtual threads and threads."""
    found: list[Any] = []
    for place, binding in enumerate((5, 4, 6)):
        found += [
            ["FU", stage, list(range(place, place + axes))],
            ["AN", stage, place, binding],
        ]
    return found


def convolution(n: list[int], f: list[int], y: list[int], x: list[int], c: list[int]) -> str:
    """Return the schedule of ``CONVOLUTION`` with these tiles: virtual, threads, two inner."""
    return json.dumps(
        [
            ["CHW", 3, "local"],
            ["SP", 3, 0, 128, n, 1],
            ["SP", 3, 5, 168, f, 1],
            ["SP", 3, 10, 21, y, 1],
            ["SP", 3, 15, 21, x, 1],
            ["SP", 3, 20, 1008, c, 1],
            ["SP", 3, 23, 1, [1, 1], 1],
            ["SP", 3, 26, 1, [1, 1], 1],
            ["RE", 3, [*_SPACE, 20, 23, 26, 21, 24, 27, 3, 8, 13, 18, 22, 25, 28, 4, 9, 14, 19]],
            *(["FSP", 4, 4 * axis, axis + 1, 3] for axis in range(4)),
            ["RE", 4, _OUTPUT],
            ["CA", 3, 4, 11],
            ["CHR", 2, "shared", [3]],
            ["CA", 3, 4, 14],
            ["CHR", 1, "shared", [4]],
            ["CA", 2, 5, 14],
            ["CI", 1],
            *_bound(6, 4),
            *_cooperative(4, 4, 294, 1),
            *_cooperative(2, 4, 252, 3),
            ["PR", 5, 0, "auto_unroll_max_step$1024"],
        ]
    )


CONVOLUTION_SCHEDULE = convolution([1, 4, 2, 2], [1, 12, 1, 7], [1, 1, 1, 1], [3, 7, 1, 1], [6, 1])
"""Blocks 8 · 2 · 21 · 1 = 336 of tiles 16 × 84 × 1 × 21, 4 · 12 · 1 · 7 = 336 threads, 3 virtual.
A thread has 4 · 7 · 1 · 3 = 84 outputs; 168 steps of 6 channels; in shared memory images of
16 · 6 · 1 · 21 = 2016 and filters of 84 · 6 = 504 numbers."""

DEPTHWISE_SCHEDULE = json.dumps(
    [
        ["CHW", 3, "local"],
        ["SP", 3, 0, 128, [1, 2, 1, 2], 1],
        ["SP", 3, 5, 168, [3, 2, 2, 1], 1],
        ["SP", 3, 10, 42, [1, 1, 1, 3], 1],
        ["SP", 3, 15, 42, [1, 21, 1, 2], 1],
        ["SP", 3, 20, 3, [3, 1], 1],
        ["SP", 3, 23, 3, [1, 3], 1],
        ["RE", 3, [*_SPACE, 20, 23, 21, 24, 3, 8, 13, 18, 22, 25, 4, 9, 14, 19]],
        *(["FSP", 4, 4 * axis, axis + 1, 3] for axis in range(4)),
        ["RE", 4, _OUTPUT],
        ["CA", 3, 4, 11],
        ["CHR", 2, "shared", [3]],
        ["CA", 3, 4, 13],
        ["CHR", 1, "shared", [4]],
        ["CA", 2, 5, 13],
        ["CI", 1],
        *_bound(6, 4),
        *_cooperative(4, 4, 18, 1),
        *_cooperative(2, 4, 80, 1),
        ["PR", 5, 0, "auto_unroll_max_step$64"],
    ]
)
"""Blocks 32 · 14 · 14 · 1 = 6272 of tiles 4 × 12 × 3 × 42, 2 · 2 · 1 · 21 = 84 threads, 3 virtual.
A thread has 2 · 6 · 3 · 2 = 72 outputs; one step of the whole 3 × 3 window; in shared memory images
of 4 · 12 · 5 · 44 = 10560 and filters of 12 · 3 · 3 = 108 numbers."""

MATMUL_SCHEDULE = json.dumps(
    [
        ["CHW", 2, "local"],
        ["SP", 2, 0, 128, [8, 4, 4, 1], 1],
        ["SP", 2, 5, 1000, [1, 25, 4, 2], 1],
        ["SP", 2, 10, 4032, [18, 2], 1],
        ["RE", 2, [0, 5, 1, 6, 2, 7, 10, 11, 3, 8, 12, 4, 9]],
        *(["FSP", 3, 4 * axis, axis + 1, 3] for axis in range(2)),
        ["RE", 3, [0, 4, 1, 5, 2, 6, 3, 7]],
        ["CA", 2, 3, 5],
        ["CHR", 1, "shared", [2]],
        ["CA", 2, 3, 6],
        ["CHR", 0, "shared", [3]],
        ["CA", 1, 4, 6],
        *_bound(5, 2),
        *_cooperative(3, 2, 288, 1),
        *_cooperative(1, 2, 144, 1),
        ["PR", 4, 0, "auto_unroll_max_step$512"],
    ]
)
"""Blocks 1 · 5 of tiles 128 × 200, 4 · 25 = 100 threads, 8 virtual. A thread has 32 · 8 = 256
outputs; 112 steps of 36; in shared memory 128 · 36 = 4608 and 36 · 200 = 7200 numbers."""
