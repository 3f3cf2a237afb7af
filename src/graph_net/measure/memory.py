"""How much memory a process and its children hold, as the kernel counts it."""

from __future__ import annotations

import re
from pathlib import Path

from graph_net.isolate.descendants import descendants

_ANONYMOUS = re.compile(r"^RssAnon:\s*(\d+) kB", re.M)
_SHARED = re.compile(r"^RssShmem:\s*(\d+) kB", re.M)
_PART_OF_SHARED = re.compile(r"^Pss_Shmem:\s*(\d+) kB", re.M)
_LITTLE_SHARED = 16 << 20
"""Shared memory below it is not looked into, which costs a walk through the page tables."""


def group_bytes(pid: int) -> int:
    """Resident memory that a process and its descendants hold, in bytes; files left out.

    What several of them share counts once.
    """
    return sum(_held_bytes(member) for member in descendants(pid))


def _held_bytes(pid: int) -> int:
    status = _text(f"/proc/{pid}/status")
    shared = _bytes(_SHARED, status)
    if shared > _LITTLE_SHARED:
        shared = _bytes(_PART_OF_SHARED, _text(f"/proc/{pid}/smaps_rollup"))
    return _bytes(_ANONYMOUS, status) + shared


def _text(path: str) -> str:
    try:
        return Path(path).read_text("ascii", "replace")
    except OSError:  # it ended meanwhile
        return ""


def _bytes(field: re.Pattern[str], text: str) -> int:
    found = field.search(text)
    return int(found[1]) << 10 if found else 0
