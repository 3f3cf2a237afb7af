"""A process that writes one task in the report's form: its times, and two programs as code.

Programs are replayed by their compiler in forked processes. A server with threads must not fork, so
it asks this process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from graph_net.serve.errors import ServeError

SECONDS = 180.0
LONGEST = 64 << 20


def main() -> None:
    """Write the task that standard input names."""
    from graph_net.report.page_programs import programs_data, read_task

    question = json.load(sys.stdin)
    found = read_task(Path(question["records"]), question["task"])
    answer = {"programs": programs_data(found), "details": list(found.details)}
    sys.stdout.write(json.dumps(answer))


def read_in_process(records: Path, task: str) -> dict[str, Any]:
    """Return the data of a task; raise ServeError if it cannot be read."""
    import os

    import graph_net

    environment = {**os.environ, "PYTHONPATH": str(Path(graph_net.__file__).parents[1])}
    question = json.dumps({"records": str(records), "task": task})
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "graph_net.serve.task_process"],
            input=question.encode(), capture_output=True, timeout=SECONDS, env=environment,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ServeError(f"the task takes more than {SECONDS:g} s to be read") from error
    if done.returncode or len(done.stdout) > LONGEST:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise ServeError(f"the task cannot be read: {(last or ['no answer'])[0][:300]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


if __name__ == "__main__":
    main()
