"""Validation of a graph: the five requirements of GraphNet's paper for a sample."""

from graph_net.validate.report import Requirement, RequirementResult, State, ValidationReport

__all__ = ["Requirement", "RequirementResult", "State", "ValidationReport"]
