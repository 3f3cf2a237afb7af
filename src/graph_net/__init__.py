"""One system for tensor compilers: graphs as data, measured, scored, learned from, searched."""

__version__ = "0.1.0"
