"""Programs and graphs as feature vectors for cost models."""

__all__: list[str] = []
