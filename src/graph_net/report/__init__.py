"""Numbers in, pictures and pages out."""
