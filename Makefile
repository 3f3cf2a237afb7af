# `make bench` and `make test` work on a fresh machine with Python 3.11, pip, g++ and make.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed
# pip compiles on one core; compileall does it afterwards on all of them.
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
BUDGET ?= 10m
RECORDS := build/records

.PHONY: bench test lint docs benchmarks chromium clean

bench: $(STAMP)            ## measure compilers on the mini corpus; the same command again goes on
	$(BIN)/graph-net bench --mini --compilers inductor,onnxruntime --budget $(BUDGET) --seconds 1.5 --records $(RECORDS)
	$(BIN)/graph-net score $(RECORDS)
	$(BIN)/graph-net report $(RECORDS) -o build/report.html

test: $(STAMP) lint        ## everything that must hold
	$(BIN)/python -m pytest -n $$(($$(nproc) + 1))  # some tests wait: one more than cores keeps these busy

lint: $(STAMP)             ## types, style, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports

docs: $(STAMP)             ## rewrite the pages that are made from the program, check the others
	$(BIN)/python -m tools.docs

benchmarks: $(STAMP)       ## what is claimed of speed and memory, measured
	$(BIN)/python -m benchmarks.run

clean:
	rm -rf .venv build

# The tests of the report drive a browser, and are skipped where there is none.
chromium:                  ## install Debian's Chromium where that can be done; goes on where it cannot
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing Chromium for the tests of the report" && \
	  { apt-get install -qq -y --no-install-recommends chromium >/dev/null 2>&1 || \
	    { apt-get update -qq >/dev/null 2>&1 && apt-get install -qq -y --no-install-recommends chromium >/dev/null 2>&1; }; }; } || \
	  echo "no Chromium, and it could not be installed: tests of the report in a browser will be skipped"

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) "torch==2.13.0"
	$(INSTALL) -e ".[dev]"
	-@$(BIN)/python -m compileall -qq -j 0 .venv/lib
	@$(MAKE) --no-print-directory chromium
	touch $(STAMP)
