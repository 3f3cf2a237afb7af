"""The same work on a Ray cluster: lanes that measure, and pools whose workers are anywhere."""
