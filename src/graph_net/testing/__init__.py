"""Models, graphs and conformance kits for tests and plug-ins, shipped with the package."""

__all__: list[str] = []
