"""The published data set of programs: splits, statistics, card and metadata."""
