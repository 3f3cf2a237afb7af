"""Write a graph and a compiler as one standalone script that shows what is wrong."""

from graph_net.repro.script import POSSIBLE, ReproError, write_script
from graph_net.repro.try_script import CheckedScript, ScriptOutcome, try_script

__all__ = ["POSSIBLE", "CheckedScript", "ReproError", "ScriptOutcome", "try_script", "write_script"]
