"""``graph-net`` with a protocol of few samples: ``python -m cluster.quick_bench bench …``."""

from __future__ import annotations

import sys
from functools import partial

import graph_net.measure
from graph_net.cli.main import main
from graph_net.measure import Protocol

QUICK = partial(
    Protocol, warm_seconds=0.01, min_blocks=1, max_blocks=2, noise_limit=1e9, exact=False
)

if __name__ == "__main__":
    graph_net.measure.Protocol = QUICK  # type: ignore[misc,assignment]
    main(sys.argv[1:])
