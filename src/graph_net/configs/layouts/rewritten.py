"""The answers of rewriting processes: graphs under layouts, or failures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_net.results import Failure, Json, Stage, Symptom


@dataclass
class Rewritten:
    """The answer for one layout: the graph's bytes and what is known of it, or a failure."""

    facts: dict[str, Json] = field(default_factory=dict)
    graph: bytes = b""
    calls: bytes = b""
    """Rows of its calls, if they were asked for."""
    failure: Failure | None = None
    unusable: str = ""
    """Why the graph has no layouts at all, if that was found while rewriting."""


def parse_rewritten(answers: Sequence[Any], count: int) -> list[Rewritten]:
    """Return a process's answers for each layout; layouts it did not reach are failures."""
    layouts: list[Rewritten] = []
    for answer in answers:
        if isinstance(answer, dict) and "unusable" in answer:
            why = str(answer["unusable"])
            gone = Failure(Stage.LOAD, Symptom.UNSUPPORTED, why)
            return [Rewritten(failure=gone, unusable=why) for _ in range(count)]
        if isinstance(answer, bytes):
            if layouts[-1].graph:
                layouts[-1].calls = answer
            else:
                layouts[-1].graph = answer
        elif "failure" in answer:
            layouts.append(Rewritten(failure=read_failure(answer["failure"])))
        else:
            layouts.append(Rewritten(dict(answer["facts"])))
    lost = Failure(Stage.COMPILE, Symptom.INFRASTRUCTURE, "the rewriting process ended")
    layouts += [Rewritten(failure=lost) for _ in range(count - len(layouts))]
    return [one if one.graph or one.failure else Rewritten(failure=lost) for one in layouts]


def read_failure(tree: Any) -> Failure:
    """Return the failure that a process reported."""
    tree = json.loads(json.dumps(tree))
    return Failure(**{**tree, "stage": Stage(tree["stage"]), "symptom": Symptom(tree["symptom"])})
