"""Other people's files, read as data."""
