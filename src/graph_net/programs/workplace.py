"""The directory a collection works in: which machine's programs it holds, and its name."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from graph_net.corpus.sources import written
from graph_net.measure.device import cpu_name
from graph_net.record.codec import read_as

FILE = "machine.json"


@dataclass(frozen=True)
class Workplace:
    """What a schedule was drawn for and measured on: the same in all of a directory."""

    device: str
    cores: int
    name: str
    """Of the directory, wherever it is: files made from it bear it, and replace one another."""


def workplace(work: Path) -> Workplace:
    """That of a directory, which is this machine's; ValueError where it is another's."""
    file = work / FILE
    here = Workplace(cpu_name(), len(os.sched_getaffinity(0)), secrets.token_hex(16))
    if not file.exists():
        work.mkdir(parents=True, exist_ok=True)
        with written(file) as out:
            out.write(json.dumps(asdict(here)).encode())
        return here
    found = read_as(Workplace, file.read_text("utf-8"), str(file))
    if (found.device, found.cores) != (here.device, here.cores):
        raise ValueError(
            f"{work} holds programs of {found.device} with {found.cores} cores, and this is "
            f"{here.device} with {here.cores}: name another --work"
        )
    return found
