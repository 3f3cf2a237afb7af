"""The memory that a process and its descendants hold, as the kernel counts it."""

from __future__ import annotations

import re
from pathlib import Path

from graph_net.isolate.descendants import descendants

_ANONYMOUS = re.compile(r"^RssAnon:\s*(\d+) kB", re.M)
_SHARED = re.compile(r"^RssShmem:\s*(\d+) kB", re.M)
_PART_OF_SHARED = re.compile(r"^Pss_Shmem:\s*(\d+) kB", re.M)
_LITTLE_SHARED = 16 << 20
"""Shared bytes below this count in full: the exact share costs a walk of the page tables."""


def group_bytes(pid: int) -> int:
    """Return the resident bytes of a process and its descendants, without mapped files.

    Memory that several of them share counts once.
    """
    return sum(_held_bytes(member) for member in descendants(pid))


def _held_bytes(pid: int) -> int:
    status = _read_text(f"/proc/{pid}/status")
    shared = _parse_bytes(_SHARED, status)
    if shared > _LITTLE_SHARED:
        shared = _parse_bytes(_PART_OF_SHARED, _read_text(f"/proc/{pid}/smaps_rollup"))
    return _parse_bytes(_ANONYMOUS, status) + shared


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text("ascii", "replace")
    except OSError:  # it ended meanwhile
        return ""


def _parse_bytes(field: re.Pattern[str], text: str) -> int:
    match = field.search(text)
    return int(match[1]) << 10 if match else 0
