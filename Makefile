# Everything a contributor runs. Each target makes its own environment in .venv first; a second run is instant.
# Versions are pinned in pyproject.toml and nowhere else.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed

.PHONY: help serve test test-fast compat soak bench lint format clean image containers jvm kcat go node docker namespaces

help: ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

serve: $(INSTALLED) ## start a broker
	@$(RUN) -m ottla serve

test: $(INSTALLED) jvm kcat go node docker namespaces ## everything the gate runs
	@$(RUN) tools/run_parts.py gate

test-fast: $(INSTALLED) ## the inner loop: lint and unit tests, below two minutes
	@$(RUN) tools/run_parts.py fast

compat: $(INSTALLED) jvm ## compare Ottla with Apache Kafka, scenario by scenario
	@$(RUN) -m compat_tests

soak: $(INSTALLED) jvm namespaces ## what takes longer than the gate may; record the result in docs/measurements.md
	@$(RUN) tools/run_parts.py soak

bench: $(INSTALLED) jvm ## measure, side by side with others; half an hour
	@$(RUN) -m bench.wire
	@$(RUN) -m bench.broker
	@$(RUN) -m bench.groups
	@$(RUN) -m bench.cluster

containers: $(INSTALLED) jvm docker ## the images, and what runs in containers
	@$(RUN) tools/run_parts.py containers

image: $(INSTALLED) ## Ottla's image, on the official one of Python
	@$(RUN) docker/build.py ottla

lint: $(INSTALLED) ## ruff and mypy
	@$(RUN) tools/run_parts.py lint

format: $(INSTALLED) ## let ruff rewrite the code
	@$(RUN) -m ruff check --fix-only --quiet .
	@$(RUN) -m ruff format .

clean: ## remove all that was made, the cache of jars and drivers included
	rm -rf $(VENV) .cache build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f ottla/wire/records/*.so

$(INSTALLED): pyproject.toml tools/requirements.py tools/setup.sh hatch_build.py ottla/wire/records/look.py
	@bash tools/setup.sh python $(VENV)
	@touch $@

jvm:
	@bash tools/setup.sh jvm

kcat:
	@bash tools/setup.sh kcat

go:
	@bash tools/setup.sh go

node:
	@bash tools/setup.sh node

docker:
	@bash tools/setup.sh docker

namespaces:
	@bash tools/setup.sh namespaces
