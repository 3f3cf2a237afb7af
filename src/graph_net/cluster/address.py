"""Addresses of clusters, as users write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

LOCAL = "local"
"""Used as an address: start a cluster on this machine for the duration of the call."""
OPTION = "--ray"
_ADDRESS = re.compile(r"local|auto|[\w.\-]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}", re.ASCII)


def is_address(text: str) -> bool:
    """Return whether this is ``HOST:PORT``, ``auto`` (this machine's cluster) or ``local``."""
    return _ADDRESS.fullmatch(text) is not None


def with_address(words: Sequence[str]) -> list[str]:
    """Return the words of a command with an address after each ``--ray`` that has none."""
    complete: list[str] = []
    for word, following in pairwise([*words, ""]):
        bare = word == OPTION and not is_address(following)
        complete.append(f"{OPTION}={LOCAL}" if bare else word)
    return complete
