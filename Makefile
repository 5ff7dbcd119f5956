# Everything a developer does, by name. `make` alone lists it.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Interpreters that have the peers; name one of your own to use it.
TENSORPLAY ?= $(abspath $(VENV)-tensorplay)/bin/python
TORCH      ?= $(wildcard $(abspath $(VENV)-torch)/bin/python)
RUST   := $(shell git ls-files --cached --others --exclude-standard 'rust/*.rs' '*Cargo.toml' Cargo.lock)

.DEFAULT_GOAL := help
.PHONY: help demo test test-rust test-python lint check fuzz bench docs wheel fmt clean

help: ## List these commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python: pyproject.toml
	@echo "== Making a virtual environment in $(VENV) and fetching the test tools"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip 'maturin>=1.9,<2'
	@$(BIN)/python -m pip install --quiet --group test 'numpy>=1.26' 'click>=8.1'
	@$(BIN)/python -m pip install --quiet --group browser || echo "== playwright cannot be installed here: tests in a browser are skipped"
	@$(BIN)/python -m pip install --quiet --group oracles || echo "== tensorstore or zarr cannot be installed here: tests against them are skipped"
	@touch $@

$(VENV)/.built: $(BIN)/python $(RUST)
	@echo "== Compiling the Rust core (release build; about two minutes the first time)"
	@VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --quiet
	@touch $@

# Peers live in environments of their own: torch and TensorPlay cannot share a process.
$(VENV)-tensorplay/.ready:
	@echo "== Fetching TensorPlay, whose protocol ours is compared with"
	@$(PYTHON) -m venv $(VENV)-tensorplay
	@$(VENV)-tensorplay/bin/python -m pip install --quiet tensorplay==1.0.0 'numpy>=1.26' 'click>=8.1' \
		|| { echo "   TensorPlay cannot be installed here: its tests are skipped"; rm -f $(TENSORPLAY); }
	@touch $@

$(VENV)-torch/.ready:
	@echo "== Fetching torch, the other peer (a large download)"
	@$(PYTHON) -m venv $(VENV)-torch
	@$(VENV)-torch/bin/python -m pip install --quiet torch==2.14.1 'numpy>=1.26' 'click>=8.1' \
		|| { echo "   torch cannot be installed here: it is not compared"; rm -f $(VENV)-torch/bin/python; }
	@touch $@

$(VENV)/.lint: $(BIN)/python
	@echo "== Fetching the linters"
	@$(BIN)/python -m pip install --quiet --group lint
	@touch $@

demo: $(VENV)/.built ## Check a healthy and a broken checkpoint, explain what is wrong, draw it
	@for sample in w2_sharded_t214 offset_gap; do \
	    echo "$$ shardproof check tests/data/samples/torch_dcp_hf/$$sample"; \
	    $(BIN)/shardproof check tests/data/samples/torch_dcp_hf/$$sample || test $$? -eq 1; \
	    echo; \
	done
	@echo "$$ shardproof explain SP301"
	@$(BIN)/shardproof explain SP301
	@echo
	@echo "$$ shardproof map tests/data/samples/torch_dcp/volume_ok_gap_and_overlap -o map.html"
	@$(BIN)/shardproof map tests/data/samples/torch_dcp/volume_ok_gap_and_overlap -o map.html
	@echo "Open map.html in a browser: as many elements as there should be, and still a gap and an overlap."

test: test-rust test-python ## Set up and run every test

test-rust: ## Run the Rust tests
	cargo test --workspace --quiet

test-python: $(VENV)/.built $(VENV)-tensorplay/.ready ## Run the Python tests
	SHARDPROOF_TENSORPLAY_PYTHON=$(TENSORPLAY) SHARDPROOF_TORCH_PYTHON=$(TORCH) $(BIN)/python -m pytest

lint: $(VENV)/.built $(VENV)/.lint ## Formatting, lints and types, both languages
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/python -m mypy.stubtest shardproof._core

check: lint test ## What CI runs

FUZZ_SECONDS ?= 120

fuzz: ## Fuzz every reader and kernel for two minutes each (needs nightly Rust and cargo-fuzz)
	@for target in $$(cargo +nightly fuzz list --fuzz-dir rust/fuzz); do \
	    echo "== $$target"; mkdir -p rust/fuzz/corpus/$$target; \
	    cargo +nightly fuzz run --fuzz-dir rust/fuzz $$target rust/fuzz/corpus/$$target tests/data/samples -- \
	        -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -verbosity=0 || exit 1; \
	done

bench: $(VENV)/.built $(VENV)-tensorplay/.ready $(VENV)-torch/.ready ## Compare with the peers, write the README's tables
	cargo bench --quiet --package shardproof-core
	SHARDPROOF_TENSORPLAY_PYTHON=$(TENSORPLAY) SHARDPROOF_TORCH_PYTHON=$(abspath $(VENV)-torch)/bin/python \
		$(BIN)/python bench/compare.py --write

docs: $(VENV)/.built ## Write docs/findings.md and the picture of the README
	@$(BIN)/python -c "from shardproof.report.catalogue import findings_page; print(findings_page(), end='')" > docs/findings.md
	@$(BIN)/shardproof map tests/data/samples/torch_dcp/volume_ok_gap_and_overlap w -o docs/map.svg

wheel: $(BIN)/python ## Build a native and an abi3 wheel into dist/
	$(BIN)/maturin build --release --out dist --interpreter $(BIN)/python
	$(BIN)/maturin build --release --out dist --interpreter $(BIN)/python --features abi3

fmt: $(VENV)/.lint ## Format both languages
	cargo fmt --all
	$(BIN)/ruff format
	$(BIN)/ruff check --fix --quiet

clean: ## Remove what was built
	rm -rf $(VENV) target dist
