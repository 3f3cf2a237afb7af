"""The files of a witness: the graph as JSON, and a script that shows the problem."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from graph_net.bisect.problem import LEVEL
from graph_net.bisect.search import Witness
from graph_net.graph import GraphError, to_json
from graph_net.store.atomic import write_text

LONGEST_NAME = 150
"""Characters of a file's name; its end distinguishes witnesses."""


@dataclass(frozen=True)
class WitnessFiles:
    """The files of a witness; without a script, the reason."""

    graph: Path
    script: Path | None = None
    reason: str = ""


def write_witness(witness: Witness, folder: Path, level: float = LEVEL) -> WitnessFiles:
    """Write a witness into a folder, named after the compiler and the graph.

    The script compares at the tolerance level at which the witness was found.
    """
    from graph_net.repro import ReproError, write_script

    folder.mkdir(parents=True, exist_ok=True)
    label = Path(witness.config.name).name  # without the folders of a user's file
    name = f"{witness.name}-{label}-{witness.shown.problem}-{witness.graph.id[:8]}"
    safe = re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII)[-LONGEST_NAME:]
    path = folder / (safe + ".json")
    write_text(path, to_json(witness.graph, indent=1) + "\n")
    try:
        kind = witness.record.device.kind
        text = write_script(witness.name, witness.graph, witness.config, kind, level)
    except (ReproError, GraphError) as error:
        return WitnessFiles(path, reason=str(error))
    script = path.with_suffix(".py")
    write_text(script, text)
    return WitnessFiles(path, script)
