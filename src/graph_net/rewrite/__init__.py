"""Rewrites: a graph in, graphs out."""
