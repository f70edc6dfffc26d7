# The vocabulary of this repository. `make` alone says what there is.
#
# Needed: Python 3.11 or later with pip, Rust as of `rust-version` in Cargo.toml, gcc, make. All else
# comes from Cargo.lock and uv.lock.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.8

# What the compiled module is made of.
SOURCES := Cargo.toml Cargo.lock pyproject.toml uv.lock \
  $(shell find crates examples/devices examples/machines papers -type f -not -path '*/tests/*' -not -path '*/benches/*' \
    -not -path 'crates/capi/*')

# Only the interpreter of the environment, never another or a downloaded one. Modules are compiled
# once: where Python may not write them down a command would take three times as long to start.
UV := env -u VIRTUAL_ENV UV_COMPILE_BYTECODE=1 UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=$(VENV) \
  $(BIN)/uv --quiet

# Where nobody has compiled in steps yet, once and for all is a fifth cheaper.
export CARGO_INCREMENTAL ?= $(if $(wildcard target/debug/incremental),1,0)

.PHONY: help
help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(VENV)/ready ## build .venv with .venv/bin/penstock; again only when something changed

.PHONY: rust
rust:
	@tools/check-rust

$(VENV)/uv-$(UV_VERSION): | rust
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than Python 3.11; name another: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install --quiet uv==$(UV_VERSION)
	@touch $@

$(VENV)/tools: pyproject.toml uv.lock | $(VENV)/uv-$(UV_VERSION)
	$(UV) sync --locked --all-extras --no-install-project
	@touch $@

# The tools first: the locked maturin builds the package.
$(VENV)/ready: $(SOURCES) $(VENV)/tools
	VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH="$(CURDIR)/$(BIN):$$PATH" \
	  maturin develop --release --locked --uv
	@$(BIN)/python -m compileall -q python
	@touch $@

.PHONY: demo
demo: setup ## a bank's day on one disk: simulated, then measured on a file of 256 MiB
	$(BIN)/penstock compare examples/bank-day.toml --policies noop,class-priority,size-priority
	@mkdir -p demo-data
	$(BIN)/penstock compare examples/bank-day.toml --policies noop,class-priority,size-priority \
	  --on demo-data/disk.img --create 256MiB --set duration=15s --set live.depth=1

# One of each: those of earlier versions go.
PACKAGES := target/wheels
.PHONY: wheel sdist
wheel: $(VENV)/ready ## the package for CPython 3.11 and later in target/wheels, of what `make setup` compiled
	@rm -f $(PACKAGES)/*.whl
	$(BIN)/maturin build --release --locked --out $(PACKAGES)

sdist: $(VENV)/tools ## the package's sources in target/wheels
	@rm -f $(PACKAGES)/*.tar.gz
	$(BIN)/maturin sdist --out $(PACKAGES)

# Without debug information, which is most of the archive.
PREFIX := target/capi
.PHONY: capi
capi: rust ## the gate for C: library, header and pkg-config file, below PREFIX=target/capi
	cargo build --quiet --release --locked -p penstock-capi
	install -D -m 755 -t $(PREFIX)/lib target/release/libpenstock_gate.so
	install -D -m 644 -t $(PREFIX)/lib target/release/libpenstock_gate.a
	strip --strip-debug $(PREFIX)/lib/libpenstock_gate.*
	install -D -m 644 -t $(PREFIX)/include crates/capi/penstock_gate.h
	@mkdir -p $(PREFIX)/lib/pkgconfig
	sed "s/@VERSION@/$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)/" crates/capi/penstock_gate.pc.in \
	  > $(PREFIX)/lib/pkgconfig/penstock_gate.pc

# Twice as many at a time as a small machine has processors: many tests wait for real time. While those
# of Python wait, those of Rust are compiled, so these yield to them.
RUST_TESTS := --workspace --locked --exclude penstock-architecture
.PHONY: test
test: wheel capi ## all tests but the floors of the architecture, which `make lint` checks, and what takes hours
	@nice -n 19 cargo test --quiet $(RUST_TESTS) --no-run & compiling=$$!; \
	passed=1; $(BIN)/pytest --numprocesses 4 || passed=0; \
	wait $$compiling && [ $$passed = 1 ]
	RUST_TEST_THREADS=4 cargo test $(RUST_TESTS) 2>&1 | tools/slowest

.PHONY: lint
lint: $(VENV)/tools deny ## formatting, lints, types, the floors of the architecture, and `make deny`
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --quiet --locked -p penstock-architecture
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python tools/plain_words.py
	$(BIN)/mypy

.PHONY: deny
deny: $(VENV)/tools ## licences, duplicates, sources and advisories of the crates that we use
	tools/check-dependencies

.PHONY: validate
validate: ## compare the modelled disks with DiskSim and with measured drives: docs/validation.md
	cargo run --release --locked -p penstock-validation

.PHONY: agreement
agreement: setup ## compare the models of the kernel's schedulers with the kernel: docs/linux-agreement.md
	$(BIN)/python tools/agreement.py

.PHONY: page-cache
page-cache: setup ## compare the modelled page cache with the kernel's, as root: docs/devices/page-cache.md
	$(BIN)/python tools/page_cache.py

.PHONY: bench
bench: setup ## measure speed
	cargo bench --workspace --locked --bench '*'
	$(BIN)/python benches/traces.py
	$(BIN)/python benches/rates.py
	$(BIN)/python benches/costs.py
	$(BIN)/python benches/replay.py
	$(BIN)/python benches/cycles.py
	$(BIN)/python benches/from_fio.py

# Cases of each property, and seconds of each fuzz target; some minutes of work.
CASES := 100000
SECONDS_EACH := 60
CARGO_FUZZ_VERSION := 0.13.2
CARGO_FUZZ := target/tools/bin/cargo-fuzz
CARGO_MUTANTS_VERSION := 27.1.0
CARGO_MUTANTS := target/tools/bin/cargo-mutants
FUZZ_TARGETS = $(notdir $(basename $(wildcard fuzz/src/bin/*.rs)))

$(CARGO_FUZZ):
	cargo install --quiet --locked cargo-fuzz --version $(CARGO_FUZZ_VERSION) --root target/tools

# One target, fuzzed. Without a sanitizer the stable compiler is enough; the crates forbid unsafe code
# anyway. What is found anew stays in target/corpus, what fails in fuzz/artifacts, how many whole runs
# there were in target/soak.
FUZZ_ONE = mkdir -p target/corpus/$$target target/soak; \
	  PENSTOCK_RUNS=$(CURDIR)/target/soak/$$target.runs \
	  $(CARGO_FUZZ) run --sanitizer none --target-dir target/fuzz $$target target/corpus/$$target \
	    fuzz/seeds/$$target tests/data/traces examples -- -max_total_time=$(SECONDS_EACH) \
	    -max_len=65536 -timeout=60 -report_slow_units=60 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1

.PHONY: fuzz
fuzz: $(CARGO_FUZZ) ## what comes from outside, fuzzed; then the properties over many more random cases
	for target in $(FUZZ_TARGETS); do $(FUZZ_ONE); done
	PROPTEST_CASES=$(CASES) cargo test --release --locked -p penstock-tests --test all -- contract:: trace_properties::
	PROPTEST_CASES=$(CASES) cargo test --release --locked -p penstock-jobs --test all -- job::
	PROPTEST_CASES=$(CASES) cargo test --release --locked -p penstock-run --test all -- hdd_by_hand::
	PROPTEST_CASES=$(CASES) cargo test --release --locked -p penstock-jobs -p penstock-policy -p penstock-run --lib

.PHONY: sanitize
sanitize: ## AddressSanitizer over the crates with unsafe code, and Miri over what it can run; needs nightly
	tools/sanitize

# A finding ends its part, not the others. `make --jobs=4 soak` runs four at a time.
FUZZED = $(FUZZ_TARGETS:%=soak-%)
LONG_TESTS := soak-pytest soak-conformance soak-mutants
.PHONY: soak $(FUZZED) $(LONG_TESTS)
soak: SECONDS_EACH := 3600
soak: $(FUZZED) $(LONG_TESTS) ## what takes hours: every fuzz target for SECONDS_EACH=3600, and the long tests
	@failed=; for part in $(FUZZ_TARGETS) $(LONG_TESTS:soak-%=%); do \
	  executed=$$(sed -n 's/^stat::number_of_executed_units: *//p' target/soak/$$part.log); \
	  runs=$$(cat target/soak/$$part.runs 2>/dev/null || true); \
	  far="$${executed:+$$executed inputs }$${runs:+$$runs whole runs}"; \
	  printf '%-12s %s\n' $$part "$${far:-$$(tail -n 1 target/soak/$$part.log)}"; \
	  if [ -e target/soak/$$part.failed ]; then failed="$$failed $$part"; fi; \
	done; \
	if [ -n "$$failed" ]; then echo "error: failed:$$failed; see target/soak/*.log and fuzz/artifacts" >&2; exit 1; fi

# $(call SOAK,NAME,COMMAND) keeps what COMMAND prints, and whether it failed.
SOAK = mkdir -p target/soak; rm -rf target/soak/$(1).*; \
	{ $(2); } 2>&1 | tee target/soak/$(1).log || touch target/soak/$(1).failed

$(FUZZED): soak-%: $(CARGO_FUZZ)
	@target=$*; $(call SOAK,$*,$(FUZZ_ONE))

soak-pytest: setup
	@$(call SOAK,pytest,$(BIN)/pytest -m soak)

# Live and virtual decisions alike, over five times as many requests as in `make test`.
soak-conformance:
	@$(call SOAK,conformance,CONFORMANCE_REQUESTS=100000 cargo test --release --locked \
	  -p penstock-tests --test all -- conformance::)

$(CARGO_MUTANTS):
	cargo install --quiet --locked cargo-mutants --version $(CARGO_MUTANTS_VERSION) --root target/tools

# Faults planted into the policies, one after another, by .cargo/mutants.toml: a test must notice each.
# Those that no test noticed are in target/soak/mutants.out/missed.txt. MUTANTS=--shard=0/8 tries an
# eighth of them.
soak-mutants: $(CARGO_MUTANTS)
	@$(call SOAK,mutants,$(CARGO_MUTANTS) mutants --no-shuffle --output target/soak $(MUTANTS))

.PHONY: docs
docs: setup ## the site of the documentation, in target/site; the Rust documentation under rust/
	RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps --locked
	@# The theme prints a notice about its own future, and names this variable to silence it.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.PHONY: screenshots
screenshots: setup ## take the pictures in docs/screenshots anew; needs Chromium
	$(BIN)/python tests/python/screenshots.py

.PHONY: papers
papers: setup ## write docs/papers anew, with its pictures
	$(BIN)/python tests/python/papers.py

.PHONY: papers-live
papers-live: setup ## the same, measuring anew what runs in real time: 15 minutes, on an idle machine
	$(BIN)/python tests/python/papers.py --live

.PHONY: guard
guard: setup ## measure a guard and its rivals on this machine's disk, as root: docs/guard.md
	$(BIN)/python tools/guard_table.py

.PHONY: served
served: setup ## measure policies under unmodified programs on this machine's disk, as root: docs/served.md
	$(BIN)/python tools/served_table.py

.PHONY: policies
policies: setup ## write docs/policies.md anew: every policy under seven jobs
	$(BIN)/python tests/python/policy_catalogue.py

.PHONY: schedulers
schedulers: setup ## write docs/linux-schedulers.md anew, with its pictures
	$(BIN)/python tests/python/schedulers.py

.PHONY: schedulers-live
schedulers-live: setup ## measure the kernel's schedulers next to their models first, as root
	$(BIN)/python tests/python/schedulers_live.py
	$(BIN)/python tests/python/schedulers.py

.PHONY: accept
accept: setup ## take over changed golden tables, messages, figures and types: review them in the diff
	$(BIN)/python tools/result_types.py
	$(BIN)/python tests/python/policy_table.py
	INSTA_UPDATE=always cargo test --locked -p penstock-jobs -p penstock-run -p penstock-tests -p penstock-workload --test all

.PHONY: release
release: ## VERSION=1.2.3: checks, lint, tests, packages, and the tag; RELEASE_DRY=1 checks, and says the rest
	@$(PYTHON) tools/release.py "$(VERSION)" $(if $(RELEASE_DRY),--dry)

.PHONY: clean
clean: ## remove all that was built
	cargo clean
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache python/penstock/_native.abi3.so
	find python tests/python -type d -name __pycache__ -prune -exec rm -rf {} +
