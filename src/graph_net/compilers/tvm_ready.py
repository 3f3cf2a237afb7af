"""Load TVM's tensor intrinsics for MetaSchedule in seconds.

They are TVMScript functions, and TVMScript calls ``inspect.stack()`` for each of them. That reads
the source of every frame, half a minute in all, but only the frames are used.
"""

from __future__ import annotations

import inspect
import sys


def load_intrinsics() -> None:
    """Import ``tvm.s_tir.tensor_intrin``, with frames that carry no source."""
    if "tvm.s_tir.tensor_intrin" in sys.modules:
        return
    original = inspect.stack
    inspect.stack = _stack
    try:
        import tvm.s_tir.tensor_intrin  # noqa: F401
    finally:
        inspect.stack = original


def _stack(context: int = 1) -> list[inspect.FrameInfo]:
    frames, frame = [], sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        frames.append(
            inspect.FrameInfo(frame, code.co_filename, frame.f_lineno, code.co_name, None, None)
        )
        frame = frame.f_back  # type: ignore[assignment]
    return frames
