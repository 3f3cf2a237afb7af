"""Programs for people: overviews, listings, histograms."""

__all__: list[str] = []
