"""Write one standalone script that shows what is wrong with a graph."""

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
    """A script, and what it showed when it was tried."""

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
    """Write a script that needs only torch and the compiler, try it, and return what it showed.

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
    name, found = named_graph(graph)
    own = Path(config.name.partition(":")[0])
    source = read_text(own) if own.suffix == ".py" else None  # named by the user
    text = write_script(name, found, config, device, t, seconds, source=source)
    require_compiler(config.name, config.options)
    place = Path(output) if output is not None else _place(name, config)
    with display_of(progress).waiting("running the script in a clean process"):
        shown = try_script(text, timeout, package=source is not None)
    write_text(place, text)
    return Reproduction(place, shown)


def _place(name: str, config: Config) -> Path:
    """A file named after graph and compiler."""
    from graph_net.results import short_name

    words = (*safe_path(name).parts, re.sub(r"\W+", "_", short_name(config.name)))
    return Path(f"repro_{'_'.join(words)}.py")
