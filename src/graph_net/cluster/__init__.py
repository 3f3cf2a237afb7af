"""The same work on a Ray cluster: lanes that measure, and pools with workers on any node."""
