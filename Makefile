# make book   set up and build the book into _build/html
# make test   set up and run every check and test
# make lab    set up and open the notebooks in JupyterLab

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: book test lab clean

book: $(READY) _build/fresh
	$(BIN)/jupyter-book build . --warningiserror --keep-going
	@echo "Open _build/html/index.html in a browser."

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest tests

lab: $(READY)
	$(BIN)/jupyter lab book

clean:
	rm -rf _build $(VENV)

# Executed notebooks are cached by their own text; a change in the library must empty that cache.
_build/fresh: $(shell find ropelib -name '*.py' -o -name '*.js' -o -name '*.css')
	rm -rf _build
	@mkdir -p _build && touch $@

# The environment is made anew when a pin changes; `ready` is written only when all of it is there.
$(READY): requirements.txt constraints.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: install Python 3.10 or later, or name it: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or later is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments (venv and ensurepip are missing). On Debian or Ubuntu: apt install python3-venv"; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --requirement requirements.txt --constraint constraints.txt
	@touch $(READY)
