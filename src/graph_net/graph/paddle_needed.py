"""Paddle itself, asked for where it is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

INSTALL = 'pip install "graph-net[paddle]"'


def load_paddle() -> Any:
    """The module ``paddle``; ImportError with the command that installs it where it is missing."""
    try:
        return import_module("paddle")
    except ImportError as error:
        raise ImportError(
            f"this needs PaddlePaddle, which is not installed here: {INSTALL}"
        ) from error
