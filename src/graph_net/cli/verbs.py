"""The table of verbs: the module of each, and its one line in the help.

A verb is imported when it is called. Importing all of them to print ``--help`` would load the
libraries that any of them needs, which takes longer than most commands.
"""

from __future__ import annotations

from copy import copy
from importlib import import_module
from typing import Any

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from graph_net.cluster.address import with_address

VERBS = {
    "show": (
        "show:show_graph",
        "Show a graph: its origin, its sizes, its operators, its cost.",
    ),
    "list": (
        "list:list_pack",
        "List the graphs of a pack, or those that meet a condition; no graph is read.",
    ),
    "import": (
        "import_:import_samples",
        "Read GraphNet samples into a pack, by parsing alone (`ingest` adds measurements).",
    ),
    "export": ("export:export_pack", "Write the graphs of a pack as GraphNet sample directories."),
    "run": (
        "run:run_graph",
        "Run a graph on tensors made from its recipes; print its outputs' shapes and a digest.",
    ),
    "collect": (
        "collect:collect_zoos",
        "Capture every model of the zoos, each in a process of its own, and pack the graphs.",
    ),
    "capture": (
        "capture:capture_own_model",
        "Capture a model or function of your own: its file is run, its graphs are packed.",
    ),
    "variant": ("variant:make_variant", "Make a variant of a graph and add it to a pack."),
    "decompose": (
        "decompose:decompose_pack",
        "Cut every graph into subgraphs of several kinds and pack each distinct one once.",
    ),
    "bench": (
        "bench:bench_graphs",
        "Measure compilers on graphs: correctness, speedup over eager, compile time, memory.",
    ),
    "compilers": (
        "compilers:list_compilers",
        "List the compilers: version, devices, options, and how to install those that are absent.",
    ),
    "query": (
        "query:query_records",
        "Query records in SQL; the tables are ``records`` and, of tuners' files, ``programs``.",
    ),
    "score": (
        "score:score_sources",
        "Score compilers: correctness and speedup in one number for each tolerance t.",
    ),
    "compare": (
        "compare:compare_runs",
        "Compare two runs, two compilers or two versions of one, graph by graph.",
    ),
    "plot": (
        "plot:plot_sources",
        "Draw S(t) and ES(t) with confidence bands, and the spread of speedups, for a paper.",
    ),
    "report": (
        "report:report_records",
        "Write one HTML file with everything the records say; it needs no network.",
    ),
    "serve": (
        "serve:serve_pages",
        "Serve a local page over packs, records, programs and models; stop it with Ctrl-C.",
    ),
    "roofline": (
        "roofline:show_roofline",
        "Measure this machine's peaks once: bytes and operations per second.",
    ),
    "reference": (
        "reference:reference_graphs",
        "Store a golden run: outputs, their hashes, every raw sample, the environment.",
    ),
    "verify": (
        "verify:verify_golden",
        "Repeat a golden run here and compare outputs and times (`validate` checks graphs).",
    ),
    "repro": (
        "repro:repro_graph",
        "Write a script that needs only torch and the compiler and shows what is wrong with a "
        "graph.",
    ),
    "bisect": (
        "bisect:bisect_graph",
        "Find the smallest subgraph that still crashes, mismatches or is slower, and store it.",
    ),
    "ingest": (
        "ingest:ingest_files",
        "Add records, or tuners' programs, from other machines (`import` reads graphs).",
    ),
    "sync": (
        "sync:sync_records",
        "Bring the records of several machines into one directory (`ingest` reads single files).",
    ),
    "validate": (
        "validate:validate_graphs",
        "Check graphs by the five requirements of GraphNet's paper (`verify` checks a machine).",
    ),
    "sample": (
        "sample:sample_pack",
        "Draw a reproducible, stratified subset of a pack (`coreset` goes by measured scores).",
    ),
    "coreset": (
        "coreset:coreset_graphs",
        "Choose few graphs whose score predicts that of all, with its error (`sample` is by kind).",
    ),
    "corpus": (
        "corpus:corpus_files",
        "Count a pack, select its small part, or write its cards; the files lie beside its parts.",
    ),
    "doctor": (
        "doctor:examine_machine",
        "Report what confines the processes that run graphs here, by trying to break out.",
    ),
    "programs": (
        "programs:programs_app",
        "Programs: schedules of tasks, measured here; what they look like.",
    ),
    "configs": (
        "configs:configs_app",
        "Configurations of whole graphs: their layouts, measured here.",
    ),
    "layout": (
        "layout:find_layout",
        "Find the layout under which a graph runs fastest here, and prove its gain.",
    ),
    "learn": (
        "learn:learn_model",
        "Learn a cost model from measured programs; its scores are of what the split holds out.",
    ),
    "evaluate": (
        "evaluate:evaluate_model",
        "Evaluate a cost model: TenSet's metrics, with intervals, on programs it has not learned "
        "from.",
    ),
    "tune": (
        "tune:tune_graph",
        "Tune a graph: search its tasks for fast programs, and print the compiler to bench.",
    ),
    "study": (
        "study:run_study",
        "Answer a question about learning: a table and a picture from many small trainings.",
    ),
}
"""Name: (module:object in ``graph_net.cli``, the first paragraph of its docstring)."""
PANELS = {
    "Graphs": (
        "show list run import export capture collect variant decompose sample validate corpus"
    ),
    "Measure": "bench compilers roofline reference verify ingest sync query",
    "Score": "score compare plot report serve coreset",
    "Programs": "programs configs layout",
    "Learning": "learn evaluate study tune",
    "Debug": "bisect repro doctor",
}
"""The verbs by purpose, in the order of the help."""


class Verb(TyperCommand):
    """A command whose help is printed as written: ``[mode=max-autotune]`` is not markup."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        TyperCommand.format_help(_literal(self), ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command; ``--ray`` may stand without its address."""
        return list(super().parse_args(ctx, with_address(args)))


class Chapter(TyperGroup):
    """A group of verbs whose help is printed as written."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        literal = _literal(self)
        titles = {name: _literal(verb) for name, verb in self.commands.items()}
        literal.get_command = lambda _, name: titles[name]  # nothing is imported to be listed
        TyperGroup.format_help(literal, ctx, formatter)


class Verbs(Chapter):
    """The verbs of ``VERBS``, imported when they are called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        titles = {
            name: Verb(name, help=VERBS[name][1], rich_help_panel=panel)
            for panel, names in PANELS.items()
            for name in names.split()
        }
        self.commands = {**titles, **self.commands}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a verb and return it."""
        return load(cmd_name) if cmd_name in VERBS else super().get_command(ctx, cmd_name)


def load(name: str) -> Any:
    """Import a verb and return its command."""
    module, _, attribute = VERBS[name][0].partition(":")
    verb = getattr(import_module(f"graph_net.cli.{module}"), attribute)
    if isinstance(verb, typer.Typer):
        return get_command(verb)
    app = typer.Typer(add_completion=False)
    app.command(name, cls=Verb)(verb)
    return get_command(app)


def _literal(command: Any) -> Any:
    """Return a copy of a command whose help texts have no markup for rich."""
    literal = copy(command)
    literal.help = escape(command.help or "")
    literal.params = [copy(parameter) for parameter in command.params]
    for parameter in literal.params:
        if getattr(parameter, "help", None):
            parameter.help = escape(parameter.help)
    return literal
