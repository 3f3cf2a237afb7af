"""GraphNet's flags for its three plotting commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from graph_net.printable import printable
from graph_net.report.plots import PlotKind, draw
from graph_net.score import Parameters, find_interpretation

_ABOUT = {
    PlotKind.ST: "Draw S(t): speedup and correctness over the tolerance t.",
    PlotKind.EST: "Draw ES(t): as S(t), with failures tolerated from t = 1 on.",
    PlotKind.VIOLIN: "Draw how speedups spread.",
}


def parser(kind: PlotKind, prog: str) -> argparse.ArgumentParser:
    """Return the parser of one command."""
    flags = argparse.ArgumentParser(prog=f"python -m graph_net.{prog}", description=_ABOUT[kind])
    flags.add_argument(
        "--benchmark-path", required=True,
        help="a log, records, JSON results, a directory of them, or one with a folder per category",
    )  # fmt: skip
    flags.add_argument("--output-dir", default="analysis_results", help="where pictures go")
    if kind is not PlotKind.VIOLIN:
        flags.add_argument("--negative-speedup-penalty", type=float, default=0.0, help="p")
        flags.add_argument("--fpdb", type=float, default=0.1, help="b")
    if kind is PlotKind.EST:
        flags.add_argument(
            "--positive-tolerance-interpretation", default="default",
            choices=["default", "mismatch_extended"], help="from which t on failures are tolerated",
        )  # fmt: skip
    return flags


def main(kind: PlotKind, prog: str, arguments: Sequence[str] | None = None) -> int:
    """Draw one picture and return the exit code; an error is one sentence."""
    flags = parser(kind, prog).parse_args(arguments)
    try:
        how = find_interpretation(getattr(flags, "positive_tolerance_interpretation", "default"))
        parameters = Parameters()
        if kind is not PlotKind.VIOLIN:
            parameters = Parameters(flags.negative_speedup_penalty, flags.fpdb, how)
        paths = draw(kind, [flags.benchmark_path], flags.output_dir, parameters)
    except (ValueError, OSError) as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 1
    for path in paths:
        print(printable(str(path)))
    return 0
