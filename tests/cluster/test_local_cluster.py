"""The cluster that ``--ray`` starts: for its run alone, and for nobody else."""

from __future__ import annotations

import os
import subprocess
import sys

from graph_net.isolate.descendants import descendants

OWNER = """
import os, subprocess, sys
from graph_net.cluster.connection import Cluster
from graph_net.isolate import Limits

cluster = Cluster("local")
done = [f.answer for f in cluster.pool(Limits(600, 4 << 30)).each([1, 2, 3], lambda item: item + 1)]
print(sorted(done))
stranger = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
program = (
    "import ray, sys; ray.init(address=sys.argv[1], logging_level='critical');"
    "print(ray.get(ray.remote(lambda: 'let in').remote()))"
)
address = cluster.ray.get_runtime_context().gcs_address
refused = subprocess.run(
    [sys.executable, "-c", program, address], env={**stranger, "RAY_AUTH_MODE": "disabled"},
    capture_output=True, text=True,
)
print("let in" in refused.stdout, refused.returncode != 0)
cluster.close()
"""


def test_a_local_cluster_works_refuses_strangers_and_leaves_no_process() -> None:
    before = set(descendants(os.getpid()))
    environment = {n: v for n, v in os.environ.items() if not n.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", OWNER], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["[2, 3, 4]", "False True"], done.stderr[-2000:]
    assert set(descendants(os.getpid())) <= before
