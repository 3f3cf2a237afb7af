"""Programs on disk: parts, tables beside them, and the queries of cost models."""

__all__: list[str] = []
