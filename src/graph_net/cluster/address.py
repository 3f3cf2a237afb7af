"""Addresses of clusters, as users write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

LOCAL = "local"
"""In place of an address: start a cluster on this machine, for as long as the call takes."""
OPTION = "--ray"
_ADDRESS = re.compile(r"local|auto|[\w.\-]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}", re.ASCII)


def is_address(text: str) -> bool:
    """Return whether this is ``HOST:PORT``, ``auto`` (the cluster this machine is in) or local."""
    return _ADDRESS.fullmatch(text) is not None


def with_address(words: Sequence[str]) -> list[str]:
    """Return the words of a command with an address after each ``--ray`` that has none."""
    complete: list[str] = []
    for word, following in pairwise([*words, ""]):
        bare = word == OPTION and not is_address(following)
        complete.append(f"{OPTION}={LOCAL}" if bare else word)
    return complete
