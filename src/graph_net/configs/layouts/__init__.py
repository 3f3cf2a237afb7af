"""Layouts of a user's own graphs: enumerate, measure and search them."""

__all__: list[str] = []
