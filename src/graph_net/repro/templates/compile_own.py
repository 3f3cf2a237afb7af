"""The user's own compiler: its file is in this script, and graph_net runs it."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch


def compiled(
    model: torch.nn.Module, inputs: list[Any], options: dict[str, Any]
) -> Callable[..., Any]:
    from graph_net.compilers import Job, require_compiler
    from graph_net.graph import from_json

    folder = Path(tempfile.mkdtemp(prefix="own_compiler_"))
    (folder / "own.py").write_text(options["source"], "utf-8")
    compiler = require_compiler(f"{folder / 'own.py'}:{options['class']}", options["options"])
    device = next((value.device.type for value in inputs if hasattr(value, "device")), "cpu")
    threads = len(os.sched_getaffinity(0))
    job = Job(from_json(options["graph"]), tuple(inputs), device, folder, threads)
    runner = compiler.compile(job)
    return lambda *values: runner(values)
