"""Material for tests, benchmarks and conformance kits, inside the package so others can use it."""
