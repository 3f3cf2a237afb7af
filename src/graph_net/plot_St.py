"""``python -m graph_net.plot_St``: S(t) of logs and records, with GraphNet's flags."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from graph_net.report.plots import PlotKind
from graph_net.report.plots_door import main as door


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the picture; its files are printed."""
    return door(PlotKind.ST, "plot_St", arguments)


if __name__ == "__main__":
    sys.exit(main())
