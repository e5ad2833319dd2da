# The two commands of the README are `make demo` and `make test`.
# Both need Python >= 3.11 and make, nothing else; uv is used where it is there, because it installs faster.
# PY=/path/to/python chooses the Python of a new environment, UV= (empty) leaves uv out, and ARGS="--seed 2" is
# handed on to `courtside train` or pytest.

VENV := .venv
BIN := $(VENV)/bin
CANDIDATES := python3.13 python3.12 python3.11 python3 python
IS_NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
NEEDS := courtside needs Python 3.11 or newer
NAME_IT := name one that works: make PY=/path/to/python

UV ?= $(shell uv --version >/dev/null 2>&1 && echo uv)
UV := $(UV)

# Candidates are tried by running them: a version manager may put a name on the path that does not start.
ifeq ($(wildcard $(VENV)/pyvenv.cfg)$(origin PY),undefined)
PY := $(shell for py in $(CANDIDATES); do if $$py $(IS_NEW_ENOUGH); then echo $$py; break; fi; done)
endif

ifeq ($(UV),)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
else
INSTALL := $(UV) pip install --quiet --python $(BIN)/python
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test lint format size clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

demo: $(VENV)/installed ## train the default preset to its verdict
	$(BIN)/courtside train --require-pass $(ARGS)

test: $(VENV)/installed-test ## run the tests
	$(BIN)/python -m pytest -n logical --maxprocesses 8 --dist loadfile $(ARGS)

lint: $(VENV)/installed-dev ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

format: $(VENV)/installed-dev ## rewrite the code in the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

size: $(VENV)/installed ## report how large the code is, where it lies in crumbs, and which way imports point
	@$(BIN)/python bench/size.py $(ARGS)

clean: ## remove the environment and the caches; runs/ stays
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp per set of extras, older than pyproject.toml when something has to be installed again.
$(VENV)/installed: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "Installing courtside into $(VENV) (once; about 600 MB, mostly JAX) ..."
	@$(INSTALL) -e .
	@touch $@

$(VENV)/installed-%: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "Installing courtside[$*] into $(VENV) ..."
	@$(INSTALL) -e '.[$*]'
	@touch $@

$(VENV)/pyvenv.cfg:
	@test -n '$(PY)' || { echo '$(NEEDS), and none of these starts here: $(CANDIDATES). Install it, or $(NAME_IT)' >&2; exit 2; }
	@$(PY) $(IS_NEW_ENOUGH) || { echo '$(NEEDS), but $(PY) is older or does not start; $(NAME_IT)' >&2; exit 2; }
	@rm -rf $(VENV)
ifeq ($(UV),)
	@$(PY) -c 'import ensurepip, venv' 2>/dev/null || { echo '$(PY) cannot create environments, its ensurepip or venv module is missing: install python3-venv (Debian, Ubuntu) or uv, or $(NAME_IT)' >&2; exit 2; }
	@$(PY) -m venv $(VENV)
else
	@$(UV) venv --quiet --seed --python "$$($(PY) -c 'import sys; print(sys.executable)')" $(VENV)
endif
