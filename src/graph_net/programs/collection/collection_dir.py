"""The working directory of a collection: its name, and the machine whose programs it holds."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from graph_net.results import Device, canonical, read_as
from graph_net.results.canonical import plain
from graph_net.store.atomic import write_text
from graph_net.store.files import read_text

FILE, JOURNAL = "machine.json", "programs.jsonl"


@dataclass(frozen=True)
class CollectionMachine:
    """The machine that programs were drawn for and measured on; a directory holds one only."""

    device: Device
    name: str
    """Name of the directory, kept if it moves. Files exported from it use this name."""
    placed: bool = False
    """Whether each thread of a trial is pinned to a core; times with and without do not compare."""

    def __str__(self) -> str:
        threads = "on cores of their own" if self.placed else "wherever the kernel put them"
        return f"{canonical(plain(self.device))}, threads {threads}"


def claimed_device(work: Path) -> Device | None:
    """Return the device whose programs a directory holds; None for a new directory."""
    file = work / FILE
    return _read(file).device if file.exists() else None


def claim(work: Path, device: Device) -> CollectionMachine:
    """Return the machine of a directory; raise ValueError if it is not this machine."""
    file = work / FILE
    here = CollectionMachine(device, secrets.token_hex(16), True)
    if not file.exists():
        work.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(asdict(here)))
        return here
    known = _read(file)
    if replace(known, name=here.name) != here:
        raise ValueError(f"{work} is of {known}, and this is {here}: name another --work")
    return known


def _read(file: Path) -> CollectionMachine:
    return read_as(CollectionMachine, read_text(file), f"machine ({file})")
