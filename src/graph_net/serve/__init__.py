"""A local web page over packs, records, programs and models; listens on loopback only."""

__all__: list[str] = []
