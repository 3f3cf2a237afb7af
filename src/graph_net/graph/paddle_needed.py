"""The import of Paddle, made where it is used."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

INSTALL = 'pip install "graph-net[paddle]"'


def load_paddle() -> Any:
    """Return the module ``paddle``; raise ImportError with the install command if it is missing.

    Its warning on compiling extensions is suppressed.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="No ccache found")
            return import_module("paddle")
    except ImportError as error:
        raise ImportError(
            f"this needs PaddlePaddle, which is not installed here: {INSTALL}"
        ) from error
