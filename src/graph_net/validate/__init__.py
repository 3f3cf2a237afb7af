"""Whether a graph is what GraphNet's paper asks of a sample: five requirements, each checked."""

from graph_net.validate.report import Finding, Requirement, State, Verdict

__all__ = ["Finding", "Requirement", "State", "Verdict"]
