# `make bench` and `make test` work on a fresh machine with Python 3.11, pip, g++ and make.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed
BUDGET ?= 10m
RECORDS := build/records

.PHONY: bench test lint docs benchmarks clean

bench: $(STAMP)            ## measure compilers on the mini corpus; the same command again goes on
	$(BIN)/graph-net bench --mini --compilers inductor,onnxruntime --budget $(BUDGET) --seconds 2 --records $(RECORDS)
	$(BIN)/graph-net score $(RECORDS)
	$(BIN)/graph-net report $(RECORDS) -o build/report.html

test: $(STAMP) lint        ## everything that must hold
	$(BIN)/python -m pytest -n auto

lint: $(STAMP)             ## types, style, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMP)             ## rewrite the pages that are made from the program, check the others
	$(BIN)/python -m tools.docs

benchmarks: $(STAMP)       ## what is claimed of speed and memory, measured
	$(BIN)/python -m benchmarks.run

clean:
	rm -rf .venv build

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt "torch==2.13.0"
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(STAMP)
