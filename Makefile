# `make bench` and `make test` work on a fresh machine with Python 3.11, pip, g++ and make.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed

.PHONY: bench test lint docs clean

bench: $(STAMP)            ## measure, and leave a report in build/bench
	$(BIN)/python -m benchmarks.run

test: $(STAMP) lint        ## everything that must hold
	$(BIN)/python -m pytest -n auto

lint: $(STAMP)             ## types, style, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMP)             ## rewrite the pages that are made from the program, check the others
	$(BIN)/python -m tools.docs

clean:
	rm -rf .venv build

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt "torch==2.13.0"
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(STAMP)
