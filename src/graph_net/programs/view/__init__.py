"""Programs for people: overviews, listings, histograms."""
