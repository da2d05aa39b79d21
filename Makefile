# What can be done in a checkout. `make` alone lists it; `make check` is what the gate runs.

VENV   := .venv
PYTHON := $(VENV)/bin/python
REGENT := $(VENV)/bin/regent
STAMP  := $(VENV)/.installed
SEEDS  ?= 0..99
# For `make soak`; without a SEED, any.
SECONDS ?= 900
FAULTS  ?= 200
SEED    ?=
# For `make kafka-logs`; without any, one of each era.
VERSIONS ?=
# For `make conformance`: how many scenarios.
N       ?= 100

.DEFAULT_GOAL := help
.PHONY: help setup demo test interop kafka-logs conformance duel cluster check lint types fmt sim soak bench behaviours mutants docs clean

help:  ## list what can be done here
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP)  ## build .venv with everything a checkout needs

$(STAMP): pyproject.toml
	@for python in python3.11 python3; do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    exec "$$python" -m venv $(VENV); \
	  fi; \
	done; \
	echo "Regent needs Python 3.11 or newer, as python3.11 or python3 on the PATH." >&2; exit 1
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: setup  ## watch a small cluster lose and regain its leaders
	@rm -rf build/demo
	$(REGENT) demo --out build/demo

test: setup  ## run all tests
	$(PYTHON) -m pytest -n 2 --dist worksteal

interop: setup  ## lead real Apache Kafka brokers, result in build/interop.json (needs Maven once)
	$(PYTHON) -m tests.interop

kafka-logs: setup  ## logs of real brokers, in build/kafka-logs: make kafka-logs VERSIONS="2.4.1 3.9.1"
	$(PYTHON) -m tests.interop.kafka_logs $(VERSIONS)

conformance: setup  ## compare Regent with Apache's controller: make conformance N=100 SEED=1
	$(PYTHON) -m tests.conformance --scenarios $(N) $(if $(SEED),--seed $(SEED))

duel: setup  ## Apache's controller against Regent's, result in build/duel.json (needs Maven once)
	$(PYTHON) -m benchmarks.duel --json

cluster: setup  ## run the pipeline on a Spark cluster of its own, and over Spark Connect
	$(PYTHON) -m pytest -m cluster --timeout 1200 tests/pipeline

check: lint types test  ## everything that must pass before a change goes in

lint: setup  ## style and format
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check

types: setup  ## mypy, strict
	$(VENV)/bin/mypy

fmt: setup  ## format the code and repair what can be repaired by itself
	$(VENV)/bin/ruff format
	$(VENV)/bin/ruff check --fix

sim: setup  ## simulate clusters under faults: make sim SEEDS=0..99
	$(REGENT) simulate --seeds $(SEEDS)

soak: setup  ## 1000 simulated clusters, then a real one: make soak SECONDS=900 FAULTS=200 SEED=1
	$(PYTHON) -m tests.chaos --seconds $(SECONDS) --faults $(FAULTS) $(if $(SEED),--seed $(SEED))

bench: setup  ## measure, result in build/bench.json
	$(PYTHON) -m benchmarks.all

behaviours: setup  ## which catalogued Kafka behaviours are proven, result in build/behaviours.json
	@$(PYTHON) -m tests.behaviours

mutants: setup  ## break the code in known ways and see a test fail, result in build/mutants.json
	$(PYTHON) -m tests.mutants

docs: setup  ## rewrite the generated documents
	$(PYTHON) -m regent.journal.document > docs/journal.md
	$(PYTHON) -m regent.pipeline.audit.document > docs/audit.md
	$(PYTHON) -m regent.pipeline.sources.log_document > docs/kafka-logs.md
	$(PYTHON) -m tests.museum > docs/museum.md
	$(PYTHON) -m regent.documents.state_machines > docs/state-machines.md

clean:  ## remove everything that can be made again, .venv included
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
