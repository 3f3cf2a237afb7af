"""Inductor's option ``choices``: a model keeps a few of the choices of max-autotune.

It is part of a configuration only where it is used, so that earlier records keep their hashes.
The model belongs to a layer above the compilers and is imported by name when it is needed.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graph_net.compilers.compiler import CompilerError
from graph_net.compilers.option import Json, Option

NAME = "choices"
DEFAULT, LEARNED, WIDENED = "default", "learned", "widened"
OPTION = Option(DEFAULT, (DEFAULT, LEARNED, WIDENED))
"""``learned`` keeps some of Inductor's own choices, ``widened`` some of its exhaustive space."""
MODE = "max-autotune"
"""The mode in effect with a model's choices, if none was given."""
FRONT_DOOR = "graph_net.inductor"


def split_choices(options: Mapping[str, Json]) -> dict[str, Json]:
    """Return options without a default ``choices``, which would change the hash; add the mode."""
    found = dict(options)
    chosen = found.pop(NAME, DEFAULT)
    if not OPTION.takes(chosen):
        raise CompilerError(f"inductor{OPTION.refusal(NAME, chosen)}")
    if chosen != DEFAULT:
        found |= {NAME: chosen, "mode": found.get("mode", MODE)}
    return found


def model_folder() -> Path:
    """Return the folder of the model that ``choices`` uses."""
    folder: Path = importlib.import_module(FRONT_DOOR).model_folder()
    return folder


@contextmanager
def using_choices(chosen: Json) -> Iterator[dict[str, Json]]:
    """Let a model choose inside the context; yield remarks, filled in at its end."""
    remarks: dict[str, Json] = {}
    if chosen in (None, DEFAULT):
        yield remarks
        return
    learned: Any = importlib.import_module(FRONT_DOOR).learned
    with learned(model_folder(), widened=chosen == WIDENED) as report:
        yield remarks
    remarks["choices_offered"], remarks["choices_kept"] = report.offered, report.kept
    if report.errors:
        remarks["choices_errors"] = report.errors[:1]
