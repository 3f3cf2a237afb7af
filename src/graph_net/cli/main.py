"""The command ``graph-net``: one verb a file, one place for errors."""

from __future__ import annotations

import os
import sys
import traceback

import typer

from graph_net import __version__
from graph_net.cli.bench import bench_graphs
from graph_net.cli.bisect import bisect_graph
from graph_net.cli.collect import collect_zoos
from graph_net.cli.common import err
from graph_net.cli.compare import compare_runs
from graph_net.cli.compilers import list_compilers
from graph_net.cli.coreset import coreset_graphs
from graph_net.cli.corpus import corpus_files
from graph_net.cli.decompose import decompose_pack
from graph_net.cli.doctor import examine_machine
from graph_net.cli.export import export_pack
from graph_net.cli.import_ import import_samples
from graph_net.cli.ingest import ingest_files
from graph_net.cli.list import list_pack
from graph_net.cli.plot import plot_sources
from graph_net.cli.programs import programs_app
from graph_net.cli.query import query_records
from graph_net.cli.reference import reference_graphs
from graph_net.cli.report import report_records
from graph_net.cli.repro import repro_graph
from graph_net.cli.roofline import show_roofline
from graph_net.cli.run import run_graph
from graph_net.cli.sample import sample_pack
from graph_net.cli.score import score_sources
from graph_net.cli.show import show_graph
from graph_net.cli.validate import validate_graphs
from graph_net.cli.variant import make_variant
from graph_net.cli.verify import verify_golden
from graph_net.isolate.sandbox import SWITCH

INTERRUPTED = 130
ANSWERS = frozenset({"bisect", "compare", "repro", "verify"})
"""Verbs whose exit code 1 is an answer; an error of theirs is 2."""

app = typer.Typer(
    name="graph-net",
    help="Computational graphs as data: look at them, move them, run them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("show")(show_graph)
app.command("list")(list_pack)
app.command("import")(import_samples)
app.command("export")(export_pack)
app.command("run")(run_graph)
app.command("collect")(collect_zoos)
app.command("variant")(make_variant)
app.command("decompose")(decompose_pack)
app.command("bench")(bench_graphs)
app.command("compilers")(list_compilers)
app.add_typer(programs_app, name="programs")
app.command("query")(query_records)
app.command("score")(score_sources)
app.command("compare")(compare_runs)
app.command("plot")(plot_sources)
app.command("report")(report_records)
app.command("roofline")(show_roofline)
app.command("reference")(reference_graphs)
app.command("verify")(verify_golden)
app.command("repro")(repro_graph)
app.command("bisect")(bisect_graph)
app.command("ingest")(ingest_files)
app.command("validate")(validate_graphs)
app.command("sample")(sample_pack)
app.command("coreset")(coreset_graphs)
app.command("corpus")(corpus_files)
app.command("doctor")(examine_machine)


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
            traceback.print_exc()
        else:
            sentence = " ".join(str(error).split()) or type(error).__name__
            known = isinstance(error, (ValueError, OSError))
            prefix = "" if known else f"{type(error).__name__}: "
            hint = "" if known else " (--debug shows where)"
            err.print(
                f"error: {prefix}{sentence}{hint}", style="bold red", markup=False, soft_wrap=True
            )
        verb = next((word for word in words if not word.startswith("-")), "")
        sys.exit(2 if verb in ANSWERS else 1)


if __name__ == "__main__":
    main()
