"""Whether a graph is what GraphNet's paper asks of a sample: five requirements, each checked."""

from graph_net.validate.report import Requirement, RequirementResult, State, ValidationReport

__all__ = ["Requirement", "RequirementResult", "State", "ValidationReport"]
