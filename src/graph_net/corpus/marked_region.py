"""Regions of a page that a command writes, between two marks."""

from __future__ import annotations

import re


def replace_region(page: str, begin: str, end: str, text: str) -> str:
    """Return the page with the text between its two marks replaced."""
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"the page needs one {begin} and one {end}")
    pattern = re.escape(begin) + ".*?" + re.escape(end)
    return re.sub(pattern, lambda _: f"{begin}\n{text}\n{end}", page, flags=re.DOTALL)
