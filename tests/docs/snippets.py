"""The code blocks of the documentation: what they are, and whether the program knows them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import dropwhile
from pathlib import Path
from typing import Any

from typer.main import get_command

from graph_net.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    if path.name != "cli.md"  # generated from the program itself
)
FENCE = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]+?) -->\n+)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
INDENTED = re.compile(r"(?:^ {4}\S.*\n)(?:^ {4}.*\n)*", re.MULTILINE)
ANYWHERE = ("--debug", "--no-sandbox")
"""Options that ``main`` takes out before the parser sees the rest."""


@dataclass(frozen=True)
class Snippet:
    """A block of code, the line it begins on, and why it is not run, if it is not."""

    kind: str
    text: str
    line: int
    not_run: str | None = None


def read_snippets(page: str) -> list[Snippet]:
    """Return the fenced and the indented blocks of a page in their order."""
    text = (ROOT / page).read_text("utf-8")
    fenced = [
        Snippet(found["kind"], found["text"], _line(text, found.start("text")), found["why"])
        for found in FENCE.finditer(text)
    ]
    outside = FENCE.sub(lambda found: re.sub(r"[^\n]", "", found[0]), text)
    indented = [
        Snippet("", re.sub(r"^ {4}", "", found[0], flags=re.MULTILINE), _line(text, found.start()))
        for found in INDENTED.finditer(outside)
    ]
    return sorted([*fenced, *indented], key=lambda snippet: snippet.line)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def read_commands(snippet: Snippet) -> Iterator[list[str]]:
    """Yield the words of every ``graph-net`` and ``python -m graph_net`` command of a snippet."""
    for line in _whole_lines(snippet.text):
        words = shlex.split(line.removeprefix("$ "), comments=True)
        for command in _split(words, ("&&", "|", ";")):
            plain = list(dropwhile(re.compile(r"[A-Z_]+=").match, command))
            if plain:
                yield next(_split(plain, (">", "2>", "<")))


def _whole_lines(text: str) -> Iterator[str]:
    """Join lines that end in a backslash or within quotes."""
    pending = ""
    for line in text.splitlines():
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1] + " "
        elif _quotes_closed(pending):
            yield pending
            pending = ""
        else:
            pending += "\n"
    assert "graph-net" not in pending, f"a quote is not closed: {pending}"


def _quotes_closed(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return True


def _split(words: list[str], at: tuple[str, ...]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word in at:
            yield part
            part = []
        else:
            part.append(word)
    yield part


def parse_command(words: list[str]) -> str | None:
    """Return the verb that a command calls, ``None`` for other programs; raise if it is wrong."""
    match words:
        case ["graph-net", *rest]:
            return _parse_verb(get_command(app), [word for word in rest if word not in ANYWHERE])
        case ["python", "-m", module, *_] if module.startswith(("graph_net.", "benchmarks.")):
            assert find_spec(module) is not None, f"there is no module {module}"
            return module
        case _:
            return None


def _parse_verb(command: Any, words: list[str], parent: Any = None, name: str = "graph-net") -> str:
    """Let the parser of the program itself take the words apart; nothing is called."""
    context = command.make_context(name, words, parent=parent)
    if not hasattr(command, "resolve_command"):
        return name
    verb, chosen, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    return _parse_verb(chosen, rest, context, f"{name} {verb}")
