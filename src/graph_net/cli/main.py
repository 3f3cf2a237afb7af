"""The command ``graph-net``: one verb a file, one place for errors."""

from __future__ import annotations

import os
import sys
import traceback

import typer

from graph_net import __version__
from graph_net.cli.verbs import Verbs
from graph_net.display.terminal import err
from graph_net.isolate.sandbox import SWITCH
from graph_net.printable import printable

INTERRUPTED = 130
ANSWERS = frozenset({"bisect", "compare", "repro", "verify"})
"""Verbs whose exit code 1 is an answer; an error of theirs is 2."""

app = typer.Typer(
    name="graph-net",
    cls=Verbs,
    help="Computational graphs as data: look at them, move them, run them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graph-net {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and stop."
    ),
    debug: bool = typer.Option(
        False, "--debug", help="On an error show the whole traceback; may stand anywhere."
    ),
    no_sandbox: bool = typer.Option(
        False,
        "--no-sandbox",
        help="Run graphs and compilers unconfined, which their records tell; may stand anywhere.",
    ),
) -> None:
    """Computational graphs as data: look at them, move them, run them."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error is one sentence, unless ``--debug`` is among the words."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    debug = "--debug" in words
    if "--no-sandbox" in words:
        os.environ[SWITCH] = "off"  # every process that is started sees it
    rest = [word for word in words if word not in ("--debug", "--no-sandbox")]
    try:
        app(args=rest, prog_name="graph-net")
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # typer turns Ctrl-C into this
            err.print("Stopped; what was finished is kept.")
        raise
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone
        sys.exit(141)
    except Exception as error:
        if debug:
            sys.stderr.write(printable(traceback.format_exc(), lines=True))
        else:
            sentence = " ".join(str(error).split()) or type(error).__name__
            known = isinstance(error, (ValueError, OSError))
            prefix = "" if known else f"{type(error).__name__}: "
            hint = "" if known else " (--debug shows where)"
            err.print(f"error: {prefix}{sentence}{hint}", style="bold red", soft_wrap=True)
        verb = next((word for word in words if not word.startswith("-")), "")
        sys.exit(2 if verb in ANSWERS else 1)


if __name__ == "__main__":
    main()
