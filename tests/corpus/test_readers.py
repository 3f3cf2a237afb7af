"""What lies in the current directory is not imported by the processes that read files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import graph_net
from corpus.some_graphs import some_graph
from graph_net.formats.graphnet.write import write_sample

RUN = """
import sys
from graph_net.cli.main import main
if __name__ == "__main__":
    main(sys.argv[1:])
"""
NAMES = ("multiprocessing", "concurrent", "graph_net", "pyarrow", "pickle", "json", "sitecustomize")


def test_modules_beside_the_samples_that_are_read_do_not_run(tmp_path: Path) -> None:
    place, out = tmp_path / "stranger", tmp_path / "out"
    for number in range(2):
        write_sample(some_graph(number), place / f"sample{number}")
    for name in NAMES:
        (place / f"{name}.py").write_text(f"open({str(tmp_path / name)!r}, 'w')")
    (tmp_path / "run.py").write_text(RUN)  # as an installed command: its directory is on the path
    subprocess.run(
        [sys.executable, str(tmp_path / "run.py"), "import", ".", "-o", str(out), "-j", "2"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(Path(graph_net.__file__).parents[1])},
        check=True,
    )
    assert list(out.iterdir())
    assert [name for name in NAMES if (tmp_path / name).exists()] == []
