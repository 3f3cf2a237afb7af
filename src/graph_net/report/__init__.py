"""Plots and pages of scores, records and programs."""

__all__: list[str] = []
