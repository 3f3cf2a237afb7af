"""Rewrites the parts of the documentation that are made from the program, and checks the rest.

``--check`` changes nothing and fails if something is out of date; a test runs it so.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from typer.main import get_command

from graph_net.cli import show
from graph_net.cli.main import app

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def command_page() -> str:
    """docs/cli.md: every verb with its arguments and options, from the program itself."""
    lines = ["# Command line", "", "Made by `make docs` from the program itself.", ""]
    return "\n".join([*lines, *_verbs(get_command(app), "graph-net")])


def _verbs(group: Any, name: str) -> Iterator[str]:
    """The commands of a group; those of a group within it, after it."""
    context = group.make_context(name, ["--help"], resilient_parsing=True)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        heading = f"{'#' * (1 + len(name.split()))} {name} {word}"
        yield from (heading, "", _paragraphs(command.help or ""), "")
        if hasattr(command, "list_commands"):
            yield from _verbs(command, f"{name} {word}")
            continue
        yield from ("| argument or option | meaning | default |", "|---|---|---|")
        for parameter in command.params:
            words = parameter.opts if parameter.param_type_name == "option" else [parameter.name]
            words = [f"`{word}`" for word in (*words, *parameter.secondary_opts) if word]
            default = parameter.default
            told = "required" if parameter.required else "" if default is None else f"`{default}`"
            text = (getattr(parameter, "help", "") or "").replace("|", "\\|")
            yield f"| {', '.join(words)} | {text} | {told} |"
        yield ""


def _paragraphs(text: str) -> str:
    parts = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(" ".join(part.split()) for part in parts)


def picture() -> str:
    """docs/show.svg: what ``graph-net show`` prints for a small decoder."""
    from graph_net.testing.models import case_graph

    graph = case_graph("decoder")
    console = Console(record=True, width=96, file=io.StringIO())
    for table in (
        show.summary_table("decoder", graph, flops=True),
        show.input_table(graph),
        show.operator_table(graph, 8),
    ):
        console.print(table)
    drawing = console.export_svg(title="graph-net show", unique_id="show")
    # No fonts from elsewhere: the page must look the same without a network.
    drawing = re.sub(r"@font-face \{.*?\}\s*", "", drawing, flags=re.DOTALL)
    return drawing.replace("Fira Code, monospace", "DejaVu Sans Mono, Menlo, Consolas, monospace")


def dead_links() -> list[str]:
    """Relative links in the documentation that lead nowhere."""
    found = []
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for target in LINK.findall(page.read_text("utf-8")):
            if not (page.parent / target).exists():
                found.append(f"{page.relative_to(ROOT)}: {target}")
    return found


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    given = options.parse_args()
    made = {ROOT / "docs/cli.md": command_page(), ROOT / "docs/show.svg": picture()}
    stale = []
    for path, text in made.items():
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(str(path.relative_to(ROOT)))
            if not given.check:
                path.write_text(text, "utf-8")
    links = dead_links()
    for link in links:
        print(f"dead link in {link}")
    if stale:
        print(f"{'out of date' if given.check else 'written'}: {', '.join(stale)}")
    return 1 if links or (given.check and stale) else 0


if __name__ == "__main__":
    sys.exit(main())
