"""TVM ready for MetaSchedule in seconds.

Its tensor intrinsics are TVMScript functions, and TVMScript asks ``inspect.stack()`` for each of
them: that reads the source of every frame, half a minute in all. It uses only the frames.
"""

from __future__ import annotations

import inspect
import sys


def load_intrinsics() -> None:
    """Import ``tvm.s_tir.tensor_intrin``, with frames that carry no source."""
    if "tvm.s_tir.tensor_intrin" in sys.modules:
        return
    kept = inspect.stack
    inspect.stack = _frames
    try:
        import tvm.s_tir.tensor_intrin  # noqa: F401
    finally:
        inspect.stack = kept


def _frames(context: int = 1) -> list[inspect.FrameInfo]:
    found, frame = [], sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        found.append(
            inspect.FrameInfo(frame, code.co_filename, frame.f_lineno, code.co_name, None, None)
        )
        frame = frame.f_back  # type: ignore[assignment]
    return found
