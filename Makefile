# Everything a developer does, by name. `make` alone lists it.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
RUST   := $(shell git ls-files --cached --others --exclude-standard 'rust/*.rs' '*Cargo.toml' Cargo.lock)

.DEFAULT_GOAL := help
.PHONY: help demo test test-rust test-python lint check bench wheel fmt clean

help: ## List these commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python: pyproject.toml
	@echo "== Making a virtual environment in $(VENV) and fetching the test tools"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip 'maturin>=1.9,<2'
	@$(BIN)/python -m pip install --quiet --group test 'numpy>=1.26' 'click>=8.1'
	@touch $@

$(VENV)/.built: $(BIN)/python $(RUST)
	@echo "== Compiling the Rust core (release build; about two minutes the first time)"
	@VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --quiet
	@touch $@

$(VENV)/.lint: $(BIN)/python
	@echo "== Fetching the linters"
	@$(BIN)/python -m pip install --quiet --group lint
	@touch $@

demo: $(VENV)/.built ## Check a healthy and a broken checkpoint, and explain what is wrong
	@for sample in w2_sharded_t214 offset_gap; do \
	    echo "$$ shardproof check tests/data/samples/torch_dcp_hf/$$sample"; \
	    $(BIN)/shardproof check tests/data/samples/torch_dcp_hf/$$sample || test $$? -eq 1; \
	    echo; \
	done
	@echo "$$ shardproof explain SP301"
	@$(BIN)/shardproof explain SP301

test: test-rust test-python ## Set up and run every test

test-rust: ## Run the Rust tests
	cargo test --workspace --quiet

test-python: $(VENV)/.built ## Run the Python tests
	$(BIN)/python -m pytest

lint: $(VENV)/.built $(VENV)/.lint ## Formatting, lints and types, both languages
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/python -m mypy.stubtest shardproof._core

check: lint test ## What CI runs

fmt: $(VENV)/.lint ## Format both languages
	cargo fmt --all
	$(BIN)/ruff format
	$(BIN)/ruff check --fix --quiet

clean: ## Remove what was built
	rm -rf $(VENV) target dist
