"""Write one standalone script that shows a problem of a graph."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.choose import named_graph
from graph_net.api.graphs import safe_path
from graph_net.api.options import config_of
from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.graph import Graph
    from graph_net.repro import CheckedScript
    from graph_net.results import Config


@dataclass(frozen=True)
class Reproduction:
    """A script, and the result of its trial run."""

    path: Path
    shown: CheckedScript

    @property
    def reproduced(self) -> bool:
        """Whether it shows a problem."""
        from graph_net.repro import ScriptOutcome

        return self.shown.outcome is ScriptOutcome.SHOWN


def repro(
    graph: Graph | str | Path,
    compiler: str | Config,
    output: str | Path | None = None,
    *,
    device: str = "cpu",
    t: float = -3.0,
    seconds: float = 5.0,
    timeout: float = 600.0,
    progress: Display | bool = True,
) -> Reproduction:
    """Write a script that needs only torch and the compiler, run it, and return the result.

    It holds the graph as Python, makes the inputs that were measured, compares eager with the
    compiler and times them in turns. It is run in a clean, confined process before it is written.
    """
    from graph_net.compilers import require_compiler
    from graph_net.measure.device import require_device
    from graph_net.repro import ReproError, try_script, write_script
    from graph_net.store.atomic import write_text
    from graph_net.store.files import read_text

    require_device(device)
    config = config_of(compiler, ReproError, "a script is for one")
    name, opened = named_graph(graph)
    own = Path(config.name.partition(":")[0])
    source = read_text(own) if own.suffix == ".py" else None  # named by the user
    text = write_script(name, opened, config, device, t, seconds, source=source)
    require_compiler(config.name, config.options)
    path = Path(output) if output is not None else _default_path(name, config)
    with display_of(progress).waiting("running the script in a clean process"):
        shown = try_script(text, timeout, package=source is not None)
    write_text(path, text)
    return Reproduction(path, shown)


def _default_path(name: str, config: Config) -> Path:
    """Return a file name made of graph and compiler."""
    from graph_net.results import short_name

    parts = (*safe_path(name).parts, re.sub(r"\W+", "_", short_name(config.name)))
    return Path(f"repro_{'_'.join(parts)}.py")
