"""The same work on a Ray cluster: lanes that measure, and pools with workers on any node."""

__all__: list[str] = []
