"""``python -m graph_net.plot_St``: S(t) of logs and records, with GraphNet's flags."""

from __future__ import annotations

import sys
from functools import partial

from graph_net.report.plots import PlotKind
from graph_net.report.plots_door import main as draw_plot

main = partial(draw_plot, PlotKind.ST, "plot_St")

if __name__ == "__main__":
    sys.exit(main())
