# Two commands do everything on a fresh machine with Python 3.11 or newer:
#   make run    environment, install, the demonstration (base, GRPO, F-GRPO) and its report
#   make test   environment, install, lint, types, tests
# TORCH_INDEX=https://download.pytorch.org/whl/cpu takes torch's CPU wheels, where a plain install
# would fetch gigabytes of CUDA.

PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?=
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# One thread per process: two on a busy machine are many times slower.
export OMP_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help run test test-slow test-gpu lint clean

help:
	@sed -n '2,5s/^# *//p' Makefile

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(if $(TORCH_INDEX),$(PIP) --index-url $(TORCH_INDEX) torch)
	@touch $@

$(VENV)/train: pyproject.toml constraints.txt | $(VENV)/created
	$(PIP) -e '.[train]'
	@touch $@

$(VENV)/dev: pyproject.toml constraints.txt | $(VENV)/created
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/train

run:
	@start=$$(date +%s); \
	$(MAKE) --no-print-directory $(VENV)/train && ready=$$(date +%s) && \
	echo "installed in $$((ready - start)) s; now training and evaluating" && \
	$(BIN)/fgrpo-bench run --method grpo fgrpo --n 8 --seed 0 1 && \
	$(BIN)/fgrpo-bench report runs/maze-small --out reports/latest > /dev/null && \
	echo "install $$((ready - start)) s, run $$(($$(date +%s) - ready)) s"

lint: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest

test-slow: $(VENV)/dev
	$(BIN)/python -m pytest -m slow

test-gpu: $(VENV)/dev
	$(BIN)/python -m pytest -m gpu

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
