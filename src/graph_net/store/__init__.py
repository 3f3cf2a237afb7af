"""Storage: atomic files, locks, journals, parts, SQL, and which result counts."""

__all__: list[str] = []
