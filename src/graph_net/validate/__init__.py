"""Validation of a graph: the five requirements that GraphNet's paper has for a sample."""

from graph_net.validate.report import Requirement, RequirementResult, State, ValidationReport

__all__ = ["Requirement", "RequirementResult", "State", "ValidationReport"]
