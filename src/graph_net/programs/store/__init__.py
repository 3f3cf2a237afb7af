"""Programs on disk: parts, tables beside them, and the questions cost models ask."""
