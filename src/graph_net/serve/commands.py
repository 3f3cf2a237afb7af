"""The commands that reproduce what a page shows, safe to paste into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from graph_net.serve.markup import Html, tag

CUDA = "cuda"


def command(*words: str) -> str:
    """Return a command line; empty if a word is unsafe to paste.

    Shell quotes hold any printable text. But a terminal acts on control characters before the shell
    sees them, quoted or not, so those cannot be pasted safely.
    """
    if not all(word.isprintable() for word in words):
        return ""
    return shlex.join(["graph-net", *words])


def copied(text: str) -> Html | None:
    """Return a command with a button that copies it; None for an empty command."""
    if not text:
        return None
    button = tag("button", "Copy", type="button", class_="plain copy")
    return tag("div", tag("code", text), button, class_="command")


def graph_commands(
    place: str, graph_id: str, compilers: Sequence[str] = (), device: str = "cpu"
) -> list[str]:
    """Return commands that measure a graph of a pack again, or show what is wrong with it."""
    source = f"{place}:{graph_id}"
    where = ["--device", CUDA] if device == CUDA else []
    if not compilers:
        return [command("show", source)]
    found = []
    for compiler in compilers:
        found += [
            command("repro", source, compiler, *where),
            command("bisect", source, compiler, *where),
        ]
    return [line for line in found if line]
