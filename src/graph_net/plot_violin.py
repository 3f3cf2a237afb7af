"""``python -m graph_net.plot_violin``: how speedups spread, with GraphNet's flags."""

from __future__ import annotations

import sys
from functools import partial

from graph_net.report.plots import PlotKind
from graph_net.report.plots_door import main as draw_plot

main = partial(draw_plot, PlotKind.VIOLIN, "plot_violin")

if __name__ == "__main__":
    sys.exit(main())
