"""A graph and a compiler as one standalone script that shows what is wrong."""

from graph_net.repro.checked import Outcome, Shown, try_script
from graph_net.repro.script import POSSIBLE, ReproError, write_script

__all__ = ["POSSIBLE", "Outcome", "ReproError", "Shown", "try_script", "write_script"]
