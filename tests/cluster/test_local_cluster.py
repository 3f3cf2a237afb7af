"""The cluster that ``--ray`` starts: for its run alone, and for nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

from graph_net.isolate.descendants import state_of

MARK = "GRAPH_NET_TEST_CLUSTER"
"""A variable that all processes of the cluster inherit."""
MOST_LOOKS = 3000
"""What Ray has ended may take a while to go on a busy machine."""

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


def test_a_local_cluster_works_refuses_strangers_and_leaves_no_process(
    tmp_path: Path,
) -> None:
    environment = {n: v for n, v in os.environ.items() if not n.startswith("RAY_")}
    mark = f"{MARK}={uuid.uuid4().hex}"
    shown, errors = tmp_path / "shown", tmp_path / "errors"
    with shown.open("wb") as out, errors.open("wb") as other:
        owner = subprocess.Popen(
            [sys.executable, "-c", OWNER],
            env=environment | dict([mark.split("=")]),
            stdout=out,
            stderr=other,
        )
        most = 0
        while owner.poll() is None:
            most = max(most, len(marked(mark)))
            time.sleep(0.1)
    lines = shown.read_text().splitlines()
    assert lines == ["[2, 3, 4]", "False True"], errors.read_text()[-2000:]
    assert most > 4  # the cluster's processes were seen
    for _ in range(MOST_LOOKS):
        if not marked(mark):
            break
        time.sleep(0.1)
    assert marked(mark) == set()


def marked(mark: str) -> set[int]:
    """Return the living processes whose environment has a variable."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            has_mark = mark.encode() in (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # it is gone, or another user's
            continue
        if has_mark and state_of(int(folder.name)) not in "ZX":
            found.add(int(folder.name))
    return found
