"""Programs and graphs as feature vectors for cost models."""
