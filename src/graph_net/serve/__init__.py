"""A local page over packs, records, programs and models; it listens on this machine alone."""
