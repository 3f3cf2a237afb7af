"""Files of other projects, read as data."""
