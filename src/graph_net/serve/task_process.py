"""A process that writes one task in the report's form: its times, and two programs as code.

Programs are replayed by their compiler in forked processes. A server with threads must not fork, so
it asks this process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import graph_net
from graph_net.isolate.deaths import (
    Death,
    death_from_code,
    oom_kills,
    raised,
    took_longer,
    wrote_too_much,
)
from graph_net.serve.errors import ServeError

COMMAND = ("-P", "-m", "graph_net.serve.task_process")
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
    environment = {**os.environ, "PYTHONPATH": str(Path(graph_net.__file__).parents[1])}
    question = json.dumps({"records": str(records), "task": task})
    kills = oom_kills()
    try:
        done = subprocess.run(  # noqa: S603 - our own module
            [sys.executable, *COMMAND],
            input=question.encode(), capture_output=True, timeout=SECONDS, env=environment,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ServeError(f"the task cannot be read: {took_longer(SECONDS)}") from error
    if done.returncode:
        raise ServeError(f"the task cannot be read: {_death(done, kills)}")
    if len(done.stdout) > LONGEST:
        raise ServeError(f"the task cannot be read: {wrote_too_much(LONGEST)}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _death(done: subprocess.CompletedProcess[bytes], kills_before: int) -> Death:
    """Return what the process died of: a signal, or the exception that it printed last."""
    last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    if done.returncode < 0 or not last:
        return death_from_code(done.returncode, None, kills_before)
    kind, _, message = last[0][:300].partition(": ")
    return raised(kind, message, None)


if __name__ == "__main__":
    main()
