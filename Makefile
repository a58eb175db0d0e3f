# Needs Python 3.11.5 or newer, as soupsieve does, and make. Only what installs or fetches uses the network:
# the first step, `pyodide`, `engine`, `test-dist`, `test-opinions`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed-from
NEXT := build/site
UNASKED := The engine stage was not run: make test-engine asks vLLM itself.

# MkDocs 1.6 is pinned on purpose; these turn off the advertisements of its successors.
export NO_MKDOCS_2_WARNING := 1
export DISABLE_MKDOCS_2_WARNING := true

.PHONY: help site dist test test-dist test-pages test-site test-changed site-offline lint check serve bench fuzz mutants accuracy verdicts engine record diff test-engine replica pyodide test-contribute contract
.DELETE_ON_ERROR:

help:
	@echo "make site   build the documentation strictly into site/"
	@echo "make site-offline  the same to open from a folder without a server, and as one archive"
	@echo "make pyodide  fetch the planner's Python for browsers by npm into build/; make site asks too"
	@echo "make test   run the tests"
	@echo "make dist   build wheel and sdist into dist/, the same bytes from the same commit"
	@echo "make lint   ruff and mypy"
	@echo "make check  lint, test and site: run it before every commit"
	@echo "make serve  show the site while you write, on localhost"
	@echo "make bench  time the kernel, and the planner of site/ in Chromium"
	@echo "make fuzz   feed 100,000 damaged files to the commands that read them (INPUTS=5000 SEED=2)"
	@echo "make mutants  plant small faults in the kernel; the tests catch each (DRAW=8 SEED=1: some)"
	@echo "make test-dist  install the wheel elsewhere, and resolve the pins for each Python"
	@echo "make doc-mutants  plant faults in pages, snippets, runs and catalog; build or tests catch each (DRAW=8 SEED=1: some)"
	@echo "make published  write down which figures the site shows, where some moved on purpose"
	@echo "make test-contribute  follow README and the contributor pages in a clone"
	@echo "make test-pages  hold the whole site against the package's lists"
	@echo "make test-site  look at every page in a real Chromium (CHROMIUM=/path: that one)"
	@echo "make test-same  build the site again elsewhere; every byte is the same"
	@echo "make test-opinions  ask lychee about its links, vnu about its HTML where there is a Java, actionlint about workflows"
	@echo "make test-changed  change inputs in a copy; no old figure may stay on its pages"
	@echo "make accuracy  compare with measured launches (FILE=rows.jsonl CONFIGS=folder: others)"
	@echo "make verdicts  draw how often comparisons of equal layouts give a verdict, for the site"
	@echo "make engine  install the real vLLM outside the checkout, 4 GB (VERSION=0.31.0: that one)"
	@echo "make record  ask it and write down its answers (VERSION=0.31.0 SAMPLE=1500: into build/; ONLY=builds)"
	@echo "make again  ask it the older rows of tests/oracle once more (SAMPLE=5: some of each; ONLY=quantised)"
	@echo "make diff  print what changed between two records (FROM=0.31.0 TO=0.32.0, each recorded before; JSON=1: for the site)"
	@echo "make contract  take a recorded release as the one that the package is held against (VERSION=0.33.0)"
	@echo "make replica  the guide's experiment with the real vLLM on two CPU cores, up to 90 minutes; resumes (TRIALS=3: fewer)"
	@echo "make test-engine  hold site, records and a small server against the real vLLM"

# Compared by content, not by date: a fresh checkout of the same pins needs no network.
$(STAMP): pyproject.toml constraints.txt
	@if cat $^ | cmp -s - $@; then touch $@; else $(MAKE) --no-print-directory install; fi

.PHONY: install
install:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 5) and "Python 3.11.5 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling editables
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[docs,test]'
	cat pyproject.toml constraints.txt > $(STAMP)

# MkDocs empties its target before it knows whether it will succeed, so it builds elsewhere.
# Without npm or its registry the site is whole but for configs run in the planner, and says so.
site: $(STAMP)
	@$(BIN)/python scripts/site/browser_python.py --if-possible
	rm -rf $(NEXT)
	$(BIN)/mkdocs build --strict --site-dir $(NEXT)
	test -f $(NEXT)/build-complete
	rm -rf build/site-before
	if [ -d site ]; then mv site build/site-before; fi
	mv $(NEXT) site
	rm -rf build/site-before
	@echo "$(UNASKED)"

pyodide: $(STAMP)
	$(BIN)/python scripts/site/browser_python.py

# Dated by the last commit, so that whoever builds it gets the same bytes.
dist: $(STAMP)
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build --directory dist

site-offline: site
	$(BIN)/python scripts/offline.py site build

test: $(STAMP)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal
	@echo "$(UNASKED)"

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

check: lint test test-pages

serve: $(STAMP)
	$(BIN)/mkdocs serve --no-strict

bench: $(STAMP)
	$(BIN)/python scripts/bench.py
	$(BIN)/python -m scripts.bench_planner

fuzz: $(STAMP)
	$(BIN)/python -m scripts.fuzz $(if $(INPUTS),--inputs $(INPUTS)) $(if $(SEED),--seed $(SEED))

mutants: $(STAMP)
	$(BIN)/python -m scripts.mutants $(if $(DRAW),--draw $(DRAW)) $(if $(SEED),--seed $(SEED))

.PHONY: doc-mutants published test-same test-opinions
# The same for what the site is made of: the build, or the test that a fault names, refuses it.
doc-mutants: $(STAMP)
	$(BIN)/python -m scripts.doc_mutants $(if $(DRAW),--draw $(DRAW)) $(if $(SEED),--seed $(SEED))

published: site
	$(BIN)/python -m scripts.published site

# Needs the network: an empty venv gets what the wheel depends on.
test-dist: $(STAMP)
	$(BIN)/python -m pytest -m dist tests/dist

test-contribute: $(STAMP)
	$(BIN)/python -m pytest -m clone tests/contribute

# What only the whole site can show: addresses, anchors, search, words of the source texts.
test-pages: site
	$(BIN)/python -m pytest -m pages tests/site

# A real browser looks at the site; an old figure in the site of a changed input was typed.
test-site: site
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m browser tests/browser

test-same: site
	$(BIN)/python -m scripts.reproducible site

# Tools that others wrote; the second comes by npm, once.
test-opinions: site
	$(BIN)/python -m scripts.opinions site

test-changed: site
	$(BIN)/python -m scripts.changed site

accuracy: $(STAMP)
	$(BIN)/python scripts/accuracy.py $(if $(FILE),"$(FILE)") $(if $(CONFIGS),"$(CONFIGS)")

verdicts: $(STAMP)
	$(BIN)/python scripts/false_verdicts.py

# These ask the real vLLM. Where it is not installed, they say so and install it.
engine: $(STAMP)
	$(BIN)/python scripts/engine/install.py $(if $(VERSION),--version $(VERSION))

record: $(STAMP)
	$(BIN)/python scripts/engine/record.py $(if $(VERSION),--version $(VERSION)) $(if $(SAMPLE),--sample $(SAMPLE)) $(addprefix --only ,$(ONLY))

test-engine: UNASKED := Now vLLM is asked.
test-engine: site
	$(BIN)/python scripts/engine/check.py

replica: $(STAMP)
	$(BIN)/python scripts/replica/replicate.py $(if $(TRIALS),--trials $(TRIALS)) $(if $(NOTE),--note "$(NOTE)")

# Reads records only; says which one is missing.
# Rows of tests/oracle that record does not write; SAMPLE=5 VERSION=0.33.0 ONLY=quantised.
.PHONY: again
again: $(STAMP)
	$(BIN)/python scripts/engine/again.py $(if $(VERSION),--version $(VERSION)) $(if $(SAMPLE),--sample $(SAMPLE)) $(addprefix --only ,$(ONLY))

diff: $(STAMP)
	$(if $(and $(FROM),$(TO)),,$(error make diff FROM=0.31.0 TO=0.32.0))
	$(BIN)/python scripts/engine/diff.py $(FROM) $(TO) $(if $(JSON),--json)

contract: $(STAMP)
	$(if $(VERSION),,$(error make contract VERSION=0.33.0))
	$(BIN)/python scripts/engine/contract.py $(VERSION)
