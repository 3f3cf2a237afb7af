"""``graph-net serve``: a local page over everything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.common import err, out


def serve_pages(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]…",
            help="Directories of packs, records, programs or models, and what is inside them; the "
            "shipped corpus and build/ if none is named.",
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="The port; 0 for any free one.", min=0, max=65535)] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = False,
) -> None:
    """Serve a local page over packs, records, programs and models; stop it with Ctrl-C.

    Browse and filter graphs, draw them, compare two, see every measurement with its samples, two
    runs on one page, a run that goes on, tasks, models, and SQL over everything. It listens on
    127.0.0.1 and ::1 alone; the address holds a token that opens it.
    """
    from graph_net.api.serve import served

    pages = served(paths or [], port)
    out.print(pages.address, highlight=False, soft_wrap=True)
    err.print("Listening on this machine alone; Ctrl-C ends it.", highlight=False)
    if browser:
        typer.launch(pages.address)
    pages.run()
