"""The directory a collection works in: which machine's programs it holds, and its name."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from graph_net.measure.device import cpu_name
from graph_net.results.codec import read_as
from graph_net.store.atomic import open_atomic
from graph_net.store.files import read_text

FILE = "machine.json"


@dataclass(frozen=True)
class Workplace:
    """What a schedule was drawn for and measured on: the same in all of a directory."""

    device: str
    cores: int
    tvm: str
    name: str
    """Of the directory, wherever it is: files made from it bear it, and replace one another."""
    placed: bool = False
    """Whether every thread of a trial has a core; times are no others' where it has not."""


def workplace(work: Path) -> Workplace:
    """That of a directory, which is this machine's; ValueError where it is another's."""
    file = work / FILE
    here = Workplace(cpu_name(), len(os.sched_getaffinity(0)), _tvm(), secrets.token_hex(16), True)
    if not file.exists():
        work.mkdir(parents=True, exist_ok=True)
        with open_atomic(file) as out:
            out.write(json.dumps(asdict(here)).encode())
        return here
    found = read_as(Workplace, read_text(file), f"machine ({file})")
    if replace(found, name=here.name) != here:
        raise ValueError(
            f"{work} is of {_told(found)}, and this is {_told(here)}: name another --work"
        )
    return found


def _told(of: Workplace) -> str:
    tvm = f"TVM {of.tvm}" if of.tvm else "no TVM"
    where = "on cores of their own" if of.placed else "wherever the kernel put them"
    return f"{of.device} with {of.cores} cores and {tvm}, threads {where}"


def _tvm() -> str:
    try:
        return version("apache-tvm")
    except PackageNotFoundError:
        return ""
