"""Files are written aside and renamed, with a short list of exceptions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import graph_net

SOURCE = Path(graph_net.__file__).parent
ASIDE = {"aside", "atomic"}
"""Names of a file that is renamed later, and of the module that does it."""
ALLOWED = {
    "cluster/turn_process.py": "the schedules of a lane, in its temporary folder",
    "isolate/doctor.py": "tries whether a confined process can write",
    "learn/trees.py": "part of a model, whose folder is written aside and renamed",
    "measure/device.py": "a switch of the kernel, in /proc",
    "measure/worker_protocol.py": "a switch of the kernel, in /proc",
    "repro/templates/compile_own.py": "a file of a script, in its temporary folder",
    "repro/try_script.py": "a script that is tried, in its temporary folder",
    "store/fetch.py": "a copy of somebody's files, in a temporary folder",
    "store/row_journal.py": "a journal: its reader accepts a torn tail",
    "testing/cost_model.py": "damages a file, to see that it is refused",
}


def plain_writes(tree: ast.Module) -> Iterator[str]:
    """Yield the calls that write a file under its final name."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(target, "write_text" | "write_bytes")):
                mode = "w"
            case ast.Call(ast.Attribute(target, "open"), [ast.Constant(str(mode)), *_]):
                pass
            case ast.Call(ast.Name("open"), [target, ast.Constant(str(mode)), *_]):
                pass
            case _:
                continue
        names = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
        if mode[:1] in {"w", "x"} and not names & ASIDE:
            yield ast.unparse(node)


def test_files_get_their_names_when_they_are_complete() -> None:
    writers = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if list(plain_writes(ast.parse(path.read_text("utf-8"))))
    }
    assert writers == set(ALLOWED)


def test_what_writes_in_place_is_seen() -> None:
    text = """
path.write_text("x")
(folder / "name").write_bytes(b"x")
path.open("w")
open(path, "wb")
"""
    assert len(list(plain_writes(ast.parse(text)))) == 4


def test_what_reads_or_writes_aside_is_not() -> None:
    text = """
aside.write_text("x")
(aside / "name").open("wb")
atomic.write_text(path, "x")
write_text(path, "x")
path.open("rb")
open(path)
"""
    assert list(plain_writes(ast.parse(text))) == []
