# `make play` and `make test` are all a newcomer needs; each sets up what it uses in .venv/.
VENV := .venv
BIN := $(VENV)/bin
FIND_PYTHON = for p in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python; do \
  "$$p" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done

.PHONY: help play test lint types imports unit soak fresh bench bench-all golden docs setup clean
.DEFAULT_GOAL := help

help: ## say what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

play: $(VENV)/.play ## set up everything and start a game
	@$(BIN)/tower || case $$? in 1|130) ;; *) exit 1 ;; esac # leaving a game is no error of make's

test: lint types imports unit fresh ## set up everything and run every check

setup: $(VENV)/.dev ## set up the development environment

lint: $(VENV)/.dev ## style, formatting and common mistakes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev ## strict types
	$(BIN)/mypy

imports: $(VENV)/.dev ## who may import whom
	$(BIN)/lint-imports

unit: $(VENV)/.dev ## the tests
	$(BIN)/pytest -n auto

soak: $(VENV)/.dev ## kill 200 games at random moments, in files and on a server; nothing may be lost
	$(BIN)/python tests/soak.py

fresh: ## `make play` as a newcomer meets it: in a copy of the project, with nothing set up
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && git ls-files -co --exclude-standard -z \
	  | xargs -0 tar -cf - 2>/dev/null | tar -xf - -C "$$copy" \
	  && { echo draft; cat tests/golden/draft.moves; } | NUMBER_TOWER_DB="$$copy/games.db" $(MAKE) -s -C "$$copy" play | tail -n 26 \
	  | diff - tests/golden/draft.txt && echo "make play works in a fresh copy"

bench: $(VENV)/.bench ## speed, beside others' in one run; kept in bench/RESULTS.md
	$(BIN)/python bench/all.py --write

bench-all: $(VENV)/.bench ## likewise, with what takes others minutes
	$(BIN)/python bench/all.py --write --all

golden: $(VENV)/.dev ## record the sessions that the tests compare with anew; read the difference
	$(BIN)/python tests/sessions.py
	$(BIN)/python tests/test_review.py

docs: $(VENV)/.dev ## write the generated parts of the documentation anew
	$(BIN)/python tools/reference.py

clean: ## remove what the other targets made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist

$(VENV)/bin/python:
	@python=$$($(FIND_PYTHON)); test -n "$$python" || { \
	  echo "Number Tower needs Python 3.11 or newer (with its venv module); none was found." >&2; exit 1; }; \
	  echo "Setting up in $(VENV)/ (once) ..."; "$$python" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.play: pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@ $(VENV)/.play

$(VENV)/.bench: pyproject.toml $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	@touch $@
