# make book               set up and build the book into _build/html
# make test               set up and run every check and test
# make check              all that needs neither chapters nor a browser: a minute and a half
# make chapter C=relative one chapter: its notebook, exercises, claims and built page
# make widget W=score_builder   one widget: its rules, its picture, its numbers
# make mutants COUNT=60 SEED=1 MODULE=scaling   breaks the library at random: who notices?
# make bench              speed beside every peer, an hour; FAST=1: what the chapter shows, ten minutes
# make lab                set up and open the notebooks in JupyterLab

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

# Tests share the processor's cores; one that is done takes over what the others still have to do.
# One more than there are cores, since a page makes its test wait.
WORKERS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
# Chapters run in processes of their own (tests/support/prepared.py): nbmake is not needed in this one.
PYTEST = $(BIN)/python -m pytest -p no:nbmake -n $(WORKERS) --maxprocesses 8 --dist worksteal
LINT = $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/biome check --error-on-warnings .

.PHONY: book test check chapter widget mutants bench lab clean

book: $(READY) _build/fresh
	$(BIN)/jupyter-book build . --warningiserror --keep-going
	@echo "Open _build/html/index.html in a browser."

test: $(READY)
	$(LINT)
	$(PYTEST)

check: $(READY)
	$(LINT)
	$(PYTEST) -m "not browser and not book and not notebook and not slow"

chapter: $(READY)
	@test -n "$(C)" || { echo "name a chapter: make chapter C=relative"; exit 1; }
	$(LINT)
	$(PYTEST) --chapter $(C)

widget: $(READY)
	@test -n "$(W)" || { echo "name a widget: make widget W=score_builder"; exit 1; }
	$(LINT)
	$(PYTEST) --widget $(W)

COUNT ?= 60
SEED ?= 1
mutants: $(READY)
	$(BIN)/python benchmarks/mutants.py --count $(COUNT) --seed $(SEED) $(MODULE:%=--module %)

# A peer that cannot be installed is named among the results: what is there is measured.
FAST ?=
OUT ?= .runs/speed_cpu.json
bench: $(READY) $(VENV)/peers/ready
	$(BIN)/python benchmarks/speed $(FAST:1=--fast) --out $(OUT)

$(VENV)/peers/ready: benchmarks/requirements.txt $(READY)
	rm -rf $(@D)
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --target $(@D) --requirement $< && touch $@ || echo "SOME PEERS ARE NOT INSTALLED: see above"

lab: $(READY)
	$(BIN)/jupyter lab book

clean:
	rm -rf _build .tested $(VENV)

# Executed notebooks are cached by their own text; a change in the library or in recorded runs must empty that cache.
_build/fresh: $(shell find ropelib ropebook book/results -name '*.py' -o -name '*.js' -o -name '*.css' -o -name '*.json')
	rm -rf _build
	@mkdir -p _build && touch $@

# The environment is made anew when a pin changes; `ready` is written only when all of it is there.
$(READY): requirements.txt constraints.txt pyproject.toml ropebook/pyproject.toml ropebook/setup.py
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: install Python 3.10 or later, or name it: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or later is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments (venv and ensurepip are missing). On Debian or Ubuntu: apt install python3-venv"; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --requirement requirements.txt --constraint constraints.txt
	@touch $(READY)
