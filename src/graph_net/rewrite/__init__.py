"""A Graph in, Graphs out."""
