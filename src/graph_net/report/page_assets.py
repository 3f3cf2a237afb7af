"""The style and the program of the page, and data encoded so that it cannot break out."""

from __future__ import annotations

import json
import math
import zlib
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

STYLE = "report.css"
# In the order they are needed; joined into one function, so that no name leaks.
PROGRAM = (
    "dom.js", "base.js", "chart.js", "scores.js", "curves.js", "violin.js", "control.js",
    "table.js", "paint.js", "layout.js", "drawing.js", "view.js", "programs.js", "task.js",
    "start.js",
)  # fmt: skip
DIGITS = 5


def style() -> str:
    """Return the style sheet."""
    return asset(STYLE)


@cache
def script() -> str:
    """Return the program of the page."""
    parts = "\n".join(asset(name) for name in PROGRAM)
    return f'(() => {{\n"use strict";\n{parts}}})();'


@cache
def asset(name: str) -> str:
    """Return one file of the page's style or program."""
    return (files("graph_net.report") / "assets" / name).read_text("utf-8")


def content_policy() -> str:
    """Return a policy under which a browser runs this program and fetches nothing."""
    return (
        f"default-src 'none'; script-src '{_fingerprint(script())}'; "
        f"style-src '{_fingerprint(style())}'; base-uri 'none'; form-action 'none'"
    )


def _fingerprint(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def embed_json(value: Any) -> str:
    """Return JSON that is safe inside an HTML element, whatever its texts are."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def pack_json(value: Any) -> str:
    """Return a value as one line: JSON, deflated, base64."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return b64encode(zlib.compress(text.encode(), 9)).decode()


def round_number(value: float | None, digits: int = DIGITS) -> float | None:
    """Return a number with this many significant digits; None if it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
