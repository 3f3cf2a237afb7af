"""Keeps compilers' chatter away; what matters comes as an exception."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silent() -> Iterator[None]:
    """Sends what native code writes to the process's own standard error into a file that is gone.

    MLIR and TVM print warnings and whole programs there, beside the exceptions they raise.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
