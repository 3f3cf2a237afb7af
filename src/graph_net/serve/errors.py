"""Errors of the served pages."""

from __future__ import annotations


class ServeError(ValueError):
    """Pages that cannot be served, or a view that cannot be made; its message is one line."""


class NotServed(ServeError):
    """A view of something that does not exist."""
