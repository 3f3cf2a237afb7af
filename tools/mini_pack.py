"""Copies the mini selection of the corpus into the package, so that a wheel has it.

Run it after ``graph-net corpus mini``; a test says when it is due.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from graph_net.corpus.mini import FILE, load_mini
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.corpus.shipped import MINI, shipped_corpus


def write_mini_pack(corpus: Path, target: Path) -> int:
    """Write the selection of a corpus as a pack of its own; how many graphs it has."""
    names = [graph.name for graph in load_mini(corpus / FILE).graphs]
    pack = Pack(corpus)
    rows = pack.rows_of(names, [*pack.columns, "graph"])
    shutil.rmtree(target, ignore_errors=True)
    with PackWriter(target) as writer:
        for name in names:
            writer.add_row(rows[name])
    shutil.copy(corpus / FILE, target / FILE)
    return len(names)


def main() -> int:
    print(f"{write_mini_pack(shipped_corpus(), MINI)} graphs in {MINI}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
