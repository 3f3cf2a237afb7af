"""Paddle itself, asked for where it is used."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

INSTALL = 'pip install "graph-net[paddle]"'


def load_paddle() -> Any:
    """The module ``paddle``; ImportError with the command that installs it where it is missing.

    Its advice on compiling extensions is for who writes them.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="No ccache found")
            return import_module("paddle")
    except ImportError as error:
        raise ImportError(
            f"this needs PaddlePaddle, which is not installed here: {INSTALL}"
        ) from error
