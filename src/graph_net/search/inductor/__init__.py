"""Learned choices inside Inductor: time its templates, then keep those likely to be best."""

__all__: list[str] = []
