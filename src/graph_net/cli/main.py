"""The command ``graph-net``: its verbs, and how errors are printed."""

from __future__ import annotations

import atexit
import os
import sys
import traceback
from contextlib import suppress
from typing import NoReturn

import typer

from graph_net import __version__
from graph_net.cli.verbs import Verbs
from graph_net.display.terminal import err
from graph_net.isolate.sandbox import SWITCH
from graph_net.printable import printable

INTERRUPTED = 130
UNWRITTEN = 120
"""Python's own exit code if what was printed could not be written."""
ANSWERS = frozenset({"bisect", "compare", "repro", "verify"})
"""Verbs whose exit code 1 is an answer; their errors exit with 2."""

app = typer.Typer(
    name="graph-net",
    cls=Verbs,
    help="Computational graphs as data: look at them, move them, run them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graph-net {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_print_version,
        is_eager=True,
        help="Print the version and stop.",
    ),
    debug: bool = typer.Option(
        False,
        "--debug",
        help="Show the whole traceback of an error. Allowed anywhere on the command line.",
    ),
    no_sandbox: bool = typer.Option(
        False,
        "--no-sandbox",
        help="Run graphs and compilers unconfined; records say so. Allowed anywhere on the line.",
    ),
) -> None:
    """Computational graphs as data: look at them, move them, run them."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error is one sentence, or a traceback with ``--debug``."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    debug = "--debug" in words
    if "--no-sandbox" in words:
        os.environ[SWITCH] = "off"  # inherited by every process that is started
    try:
        app(
            args=[word for word in words if word not in ("--debug", "--no-sandbox")],
            prog_name="graph-net",
        )
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # typer turns Ctrl-C into this
            err.print("Stopped; finished work is kept.")
        raise
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone
        sys.exit(141)
    except Exception as error:
        if debug:
            sys.stderr.write(printable(traceback.format_exc(), lines=True))
        else:
            sentence = " ".join(str(error).split()) or type(error).__name__
            expected = isinstance(error, (ValueError, OSError))
            prefix = "" if expected else f"{type(error).__name__}: "
            hint = "" if expected else " (--debug shows where)"
            err.print(f"error: {prefix}{sentence}{hint}", style="bold red", soft_wrap=True)
        verb = next((word for word in words if not word.startswith("-")), "")
        sys.exit(2 if verb in ANSWERS else 1)


def run() -> NoReturn:
    """Be the command: ``main``, and then an end in which no library's threads take part.

    Arrow and DuckDB have threads that may still run while C++ destroys what they use: rarely, a
    process whose work is done would abort, and its exit code be wrong.
    """
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if isinstance(stop.code, str):
            sys.stderr.write(f"{stop.code}\n")
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(ValueError):  # closed
            try:
                stream.flush()
            except OSError:
                code = code or UNWRITTEN
    os._exit(code)


if __name__ == "__main__":
    run()
