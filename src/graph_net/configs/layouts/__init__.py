"""Layouts of a user's own graphs: which there are, what they cost, which one is fastest."""
