"""Plots and pages of scores, records and programs."""
