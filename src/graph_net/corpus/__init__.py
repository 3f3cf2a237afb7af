"""Graphs on disk, and queries on them."""
