"""The command line: one file per verb, its options and one call."""
