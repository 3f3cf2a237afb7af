"""Programs and graphs as numbers, for models that learn from them."""
