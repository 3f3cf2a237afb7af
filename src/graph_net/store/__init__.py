"""Storage: atomic files, locks, journals, parts, SQL, and which result counts."""
