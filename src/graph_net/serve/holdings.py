"""Find the packs, runs, programs and models in the served directories."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from graph_net.corpus.pack import SUFFIX
from graph_net.serve.errors import NotServed, ServeError
from graph_net.store.parquet_guard import ParquetError, column_names

DEEPEST = 4
MOST_FOLDERS = 5_000
SKIPPED = frozenset({".venv", ".git", "node_modules", "__pycache__", "site-packages"})
Signature: TypeAlias = tuple[tuple[str, int, int], ...]


class HeldKind(Enum):
    """What a directory holds; records and programs may be together."""

    PACK = "pack"
    RECORDS = "records"
    PROGRAMS = "programs"
    MODEL = "model"


@dataclass(frozen=True)
class Held:
    """A directory that can be shown, with its name in addresses."""

    name: str
    path: Path
    kinds: frozenset[HeldKind]

    @property
    def signature(self) -> Signature:
        """Names, sizes and times of its files; equal as long as nothing was written."""
        return signature_of(self.path)


@dataclass(frozen=True)
class Holdings:
    """Everything that is served."""

    items: tuple[Held, ...]

    def of(self, kind: HeldKind) -> list[Held]:
        """Return the directories that hold this kind."""
        return [held for held in self.items if kind in held.kinds]

    def named(self, name: str, kind: HeldKind) -> Held:
        """Return the directory of this name and kind; raise NotServed if there is none."""
        chosen = self.of(kind)
        for held in chosen:
            if held.name == name:
                return held
        known = ", ".join(held.name for held in chosen[:20]) or "none"
        raise NotServed(f"no {kind.value} {name!r} is served; there is {known}")


def signature_of(folder: Path) -> Signature:
    """Return a value that changes when a file of a directory does."""
    files = [folder] if folder.is_file() else _files(folder)
    found = []
    for path in files:
        try:
            state = path.stat()
        except OSError:
            continue  # removed meanwhile, which changes the signature
        found.append((path.name, state.st_size, state.st_mtime_ns))
    return tuple(sorted(found))


def _files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
    except OSError:
        return []


def find_holdings(roots: Sequence[Path]) -> Holdings:
    """Return what the directories and their subdirectories hold; links are not followed."""
    found: dict[Path, tuple[Path, frozenset[HeldKind]]] = {}
    for root in roots:
        if not root.exists():
            raise ServeError(f"{root} does not exist; name directories of packs, records or models")
        for folder in _walk(root):
            kinds = kinds_of(folder)
            if kinds:
                found.setdefault(folder.resolve(), (root, kinds))
    names = _distinct([(path, root) for path, (root, _) in found.items()])
    items = (Held(names[path], path, kinds) for path, (_, kinds) in found.items())
    return Holdings(tuple(sorted(items, key=lambda held: held.name)))


def _walk(root: Path) -> Iterator[Path]:
    """Yield a directory and its subdirectories, breadth first, up to a depth and a number."""
    level, seen = [root], 0
    for _ in range(DEEPEST + 1):
        deeper: list[Path] = []
        for folder in level:
            seen += 1
            if seen > MOST_FOLDERS:
                return
            yield folder
            deeper += _subfolders(folder)
        level = deeper


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            inside = [e.path for e in entries if e.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(Path(path) for path in inside if not Path(path).name.startswith(".")
                  and Path(path).name not in SKIPPED)  # fmt: skip


def kinds_of(folder: Path) -> frozenset[HeldKind]:
    """Return what a directory itself holds, by the names of its files and their columns."""
    if folder.is_file():
        return frozenset({HeldKind.PACK}) if folder.suffix == SUFFIX else frozenset()
    names = {path.name: path for path in _files(folder)}
    found = set()
    parts = [path for name, path in sorted(names.items())
             if name.startswith("part-") and name.endswith(SUFFIX)]  # fmt: skip
    if parts:
        found |= _kind_of_part(parts[0])
    if any(name.startswith("run-") and name.endswith(".jsonl") for name in names):
        found.add(HeldKind.RECORDS)
    if any(name.startswith("programs-") and name.endswith(SUFFIX) for name in names):
        found.add(HeldKind.PROGRAMS)
    if "model.json" in names:
        found.add(HeldKind.MODEL)
    return frozenset(found)


def _kind_of_part(part: Path) -> set[HeldKind]:
    try:
        columns = set(column_names(part))
    except (ParquetError, OSError, ValueError):
        return set()
    if {"graph_id", "rest"} <= columns:
        return {HeldKind.RECORDS}
    return {HeldKind.PACK} if {"name", "structure", "nodes"} <= columns else set()


def _distinct(paths: Sequence[tuple[Path, Path]]) -> dict[Path, str]:
    """Return a name for each path: relative to its root, or absolute if two would be equal."""
    names = {path: _below(path, root) for path, root in paths}
    counts = Counter(names.values())
    return {path: name if counts[name] == 1 else str(path) for path, name in names.items()}


def _below(path: Path, root: Path) -> str:
    try:
        inside = path.relative_to(root.resolve())
    except ValueError:
        return path.name
    return (Path(root.resolve().name) / inside).as_posix()
