"""GraphNet's flags for its three plotting commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from graph_net.printable import printable
from graph_net.report.plots import PlotKind, draw
from graph_net.score import Parameters, interpretation

_ABOUT = {
    PlotKind.ST: "Draw S(t): speedup and correctness over the tolerance t.",
    PlotKind.EST: "Draw ES(t): as S(t), with failures tolerated from t = 1 on.",
    PlotKind.VIOLIN: "Draw how speedups spread.",
}


def parser(kind: PlotKind, prog: str) -> argparse.ArgumentParser:
    """The flags of one command."""
    made = argparse.ArgumentParser(prog=f"python -m graph_net.{prog}", description=_ABOUT[kind])
    made.add_argument(
        "--benchmark-path", required=True,
        help="a log, records, JSON results, a directory of them, or one with a folder a category",
    )  # fmt: skip
    made.add_argument("--output-dir", default="analysis_results", help="where pictures go")
    if kind is not PlotKind.VIOLIN:
        made.add_argument("--negative-speedup-penalty", type=float, default=0.0, help="p")
        made.add_argument("--fpdb", type=float, default=0.1, help="b")
    if kind is PlotKind.EST:
        made.add_argument(
            "--positive-tolerance-interpretation", default="default",
            choices=["default", "mismatch_extended"], help="which t tolerates which failure",
        )  # fmt: skip
    return made


def main(kind: PlotKind, prog: str, arguments: Sequence[str] | None = None) -> int:
    """Draw one picture; an error is one sentence."""
    given = parser(kind, prog).parse_args(arguments)
    try:
        how = interpretation(getattr(given, "positive_tolerance_interpretation", "default"))
        parameters = Parameters()
        if kind is not PlotKind.VIOLIN:
            parameters = Parameters(given.negative_speedup_penalty, given.fpdb, how)
        made = draw(kind, [given.benchmark_path], given.output_dir, parameters)
    except (ValueError, OSError) as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 1
    for path in made:
        print(printable(str(path)))
    return 0
