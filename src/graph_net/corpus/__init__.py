"""Graphs on disk, and questions to them."""
