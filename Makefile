# `make play` and `make test` are all a newcomer needs; each sets up what it uses in .venv/.
VENV := .venv
unexport PYTHONDONTWRITEBYTECODE # the tests start many interpreters: let them keep what they compile
BIN := $(VENV)/bin
FIND_PYTHON = for p in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python; do \
  "$$p" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done

.PHONY: help play play-web test test-all quick mutants budget lint imports types types-all slow jax scripts browser proxies screenshots lab-maps soak fresh package release-check lock container bench bench-web bench-envs bench-gpu eval golden docs site setup clean
.DEFAULT_GOAL := help

help: ## say what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

play: $(VENV)/.play ## set up everything and start a game
	@trap : INT; $(BIN)/tower || case $$? in 1|130) ;; *) exit 1 ;; esac # leaving a game, or Ctrl-C, is no error of make's

play-web: $(VENV)/.web ## set up everything and play in the browser, at the address that it prints
	@trap : INT; $(BIN)/tower serve $(SERVE) || case $$? in 130) ;; *) exit 1 ;; esac # likewise

test: $(VENV)/.test ## set up what it needs and run every check that takes no browser, PostgreSQL, JAX or Numba
	@$(MAKE) --no-print-directory -j 2 quick budget lint imports types

test-all: ## `make test`, and all the rest: browsers, PostgreSQL, JAX, types of everything, packages, scripts, coverage of `make test`
	@$(MAKE) --no-print-directory test COVER='-p pytest_cov --cov --cov-report=term:skip-covered'
	@$(MAKE) --no-print-directory $(VENV)/.dev
	@$(MAKE) --no-print-directory -j 3 types-all scripts slow jax fresh package

setup: $(VENV)/.dev ## set up the development environment

budget: $(VENV)/.test ## how much there is to read, and how much there may be
	$(BIN)/python tools/count_lines.py --budget

lint: $(VENV)/.test ## style, formatting and common mistakes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

imports: $(VENV)/.test ## who may import whom
	$(BIN)/lint-imports

# These use packages that `make test` does not install; `make types-all` checks them too.
UNTYPED := ^(tests/data/user_project|tests/browser|tests/soak)/|jax|charts|array_view|array_rules|value_table|kernel|cluster|browsers|gestures|postgres_keeper|api_fuzz|test_site|/(pictures|visits|smoke_tests|serving|pupils|sights|site_build)\.py
types: $(VENV)/.test ## strict types, as far as the packages of `make test` tell them
	$(BIN)/mypy --follow-imports silent --exclude '$(UNTYPED)' src tests tools

types-all: $(VENV)/.dev ## strict types of everything
	$(BIN)/mypy

scripts: $(VENV)/.dev ## types and style of the scripts for the browser, and style of the style sheets
	$(BIN)/python tools/javascript.py

TESTS = env -u MAKEFLAGS -u MFLAGS $(BIN)/pytest -q $(COVER)
quick: $(VENV)/.test ## the tests of `make test`: what to run between two edits
	$(TESTS) -n auto -m 'not slow'

# JAX starts threads, beside which no process should be forked; the other tests fork many.
JAX_TESTS := tests/envs/test_alphazero.py tests/envs/test_jax.py tests/envs/test_same_game.py
slow: $(VENV)/.dev browser proxies ## the tests that `make test` leaves out
	$(TESTS) -n auto -m slow $(addprefix --ignore=,$(JAX_TESTS))

jax: $(VENV)/.dev ## the tests of JAX; one process is enough, as the others mostly wait
	$(TESTS) $(JAX_TESTS)

browser: $(VENV)/.dev ## find a browser for the tests, or get one
	@$(BIN)/python tools/browser.py

proxies: $(VENV)/.dev ## find nginx and Caddy for the tests, or get them
	@$(BIN)/python tools/proxies.py

# JAX starts threads, beside which no process should be forked; the other tests fork many.
JAX_TESTS := tests/envs/test_alphazero.py tests/envs/test_jax.py tests/envs/test_same_game.py
WITHOUT_JAX := $(addprefix --ignore=,$(JAX_TESTS))
unit: $(VENV)/.dev browser proxies ## the tests
	env -u MAKEFLAGS -u MFLAGS $(BIN)/pytest -n auto $(WITHOUT_JAX)

unit-jax: $(VENV)/.dev ## the tests of JAX; one process at a time is enough, as `unit` mostly waits
	env -u MAKEFLAGS -u MFLAGS $(BIN)/pytest -q $(JAX_TESTS)

mutants: $(VENV)/.dev ## break the product in 120 places and see which tests notice; takes an hour or more, and can be stopped
	$(BIN)/python -u tools/mutants.py

SOAK := 600
SCRIPT := PYTHONPATH=tests:tools $(BIN)/python
soak: $(VENV)/.dev browser ## kill games and servers, fail every call, flood and watch a server for SOAK seconds; nothing may be lost
	$(SCRIPT) tests/soak/kill_games.py
	$(SCRIPT) tests/soak/kill_app.py
	$(SCRIPT) tests/soak/kill_servers.py
	$(SCRIPT) tests/soak/kill_class.py
	$(SCRIPT) tests/soak/faults.py
	$(SCRIPT) tests/soak/history.py 60
	$(SCRIPT) tests/soak/connections.py
	NUMBER_TOWER_THOROUGH=1 $(BIN)/pytest -q
	$(SCRIPT) tests/soak/memory.py $(SOAK)

fresh: $(VENV)/.dev ## `make play` and `make play-web` as a newcomer meets them: in a copy, with nothing set up
	env -u MAKEFLAGS -u MFLAGS $(BIN)/python tools/fresh.py

package: $(VENV)/.dev ## build wheel and source package, check them, and try the wheel in an empty environment
	env -u MAKEFLAGS -u MFLAGS $(BIN)/python tools/release.py

release-check: $(VENV)/.dev ## likewise with each extra alone, and with every Python from 3.11 on that is on PATH; takes a while
	env -u MAKEFLAGS -u MFLAGS $(BIN)/python tools/release.py --all

bench: $(VENV)/.bench ## speed, beside others' in one run; saved in bench/RESULTS.md
	PYTHONPATH=tests $(BIN)/python bench/all.py --write

bench-web: $(VENV)/.dev ## how quick the server is, beside one that does next to nothing; saved in bench/RESULTS.md
	$(SCRIPT) bench/web.py --write

bench-envs: $(VENV)/.bench ## how fast the environments are, beside others' tic-tac-toe; saved in bench/RESULTS.md
	$(BIN)/python bench/envs.py --write

bench-gpu: $(VENV)/.bench ## likewise on an accelerator, where there is one; `bench/envs_gpu.py --merge build/gpu.md` saves it
	mkdir -p build
	$(BIN)/python bench/envs_gpu.py > build/gpu.md

eval: $(VENV)/.dev ## evaluate random and all levels again; the report is saved in docs/evaluation
	$(BIN)/tower eval --baselines --games 400 --positions 1200 --variants 40 --seed=1 --out /dev/null --report docs/evaluation
	rm docs/evaluation/report.html # the site has the same as a page

screenshots: $(VENV)/.dev browser ## take the pictures of every page and of the app anew, in build/pictures; look at them
	$(BIN)/python tools/pictures.py

lab-maps: $(VENV)/.dev ## measure the usual settings of every game again, for the maps in the browser
	mkdir -p build/lab
	for file in src/number_tower/engine/catalogue/*.toml; do game=$$(basename $$file .toml); \
	  $(BIN)/tower lab $$game --out build/lab/$$game.jsonl --resume || exit 1; done
	$(BIN)/python tools/lab_maps.py build/lab/*.jsonl

golden: $(VENV)/.dev browser ## record the sessions and snapshots that the tests compare with anew; read the difference
	-$(TESTS) -n auto --snapshot-update --no-header
	$(SCRIPT) tests/support/command.py
	$(SCRIPT) tests/coach/test_review.py
	$(SCRIPT) tests/words/test_prompt.py
	$(SCRIPT) tests/envs/test_openspiel.py

site: $(VENV)/.dev ## build the documentation site in build/site, and check every page of it
	$(BIN)/python tools/site_build.py

lock: $(VENV)/.dev ## write the versions in requirements/ anew where pyproject.toml asks for it; UPGRADE=--upgrade takes all newest
	$(BIN)/python tools/lock.py $(UPGRADE)

ENGINE = $(firstword $(foreach name,podman docker,$(if $(shell command -v $(name)),$(name))))
container: ## build the container and run it, with podman or Docker, at http://127.0.0.1:8000; games are saved in a volume
	@test -n "$(ENGINE)" || { echo "To run containers, podman or Docker is needed; none was found." >&2; exit 1; }
	BUILDAH_FORMAT=docker $(ENGINE) build -t number-tower -f deploy/Containerfile .
	$(ENGINE) run --rm --read-only --tmpfs /tmp --cap-drop all --security-opt no-new-privileges \
	  -p 127.0.0.1:8000:8000 -v number-tower:/data number-tower $(SERVE)

docs: $(VENV)/.dev ## write the generated parts of the documentation anew
	$(BIN)/python tools/reference.py

clean: ## remove what the other targets made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist

$(VENV)/bin/python:
	@python=$$($(FIND_PYTHON)); test -n "$$python" || { \
	  echo "Number Tower needs Python 3.11 or newer (with its venv module); none was found." >&2; exit 1; }; \
	  echo "Setting up in $(VENV)/ (once) ..."; "$$python" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# Everything is installed in the versions of requirements/, and nothing else is: each file has the hashes of its packages.
# `LOCKED=no` takes the newest versions that pyproject.toml admits, for a Python that requirements/ does not know yet.
LOCKED := yes
COMMA := ,
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
ifeq ($(LOCKED),no)
install = @$(PIP) install --upgrade 'pip>=25.1' && $(PIP) install $(2)
else
install = @{ $(PIP) install --require-hashes -r requirements/build.txt && \
  $(PIP) install --require-hashes --no-build-isolation -r requirements/$(1).txt && \
  $(PIP) install --no-deps --no-build-isolation --editable . ; } || { \
  echo "The versions in requirements/$(1).txt could not be installed; pip says above why. They are made for Python 3.11" >&2; \
  echo "to 3.14, and this is $$($(BIN)/python --version). To install the newest versions instead, unchecked:" >&2; \
  echo "make $(MAKECMDGOALS) LOCKED=no" >&2; exit 1; }
endif

LOCKS := $(wildcard requirements/*.txt)
$(VENV)/.play: pyproject.toml $(LOCKS) | $(VENV)/bin/python
	$(call install,play,--editable '.[tui]')
	@touch $@

$(VENV)/.web: pyproject.toml $(LOCKS) | $(VENV)/bin/python
	$(call install,web,--editable '.[tui$(COMMA)web]')
	@touch $@ $(VENV)/.play

$(VENV)/.test: pyproject.toml $(LOCKS) | $(VENV)/bin/python
	$(call install,test,--editable '.[mcp$(COMMA)postgres$(COMMA)tui$(COMMA)web]' --group test)
	@touch $@ $(VENV)/.play $(VENV)/.web

$(VENV)/.dev: pyproject.toml $(LOCKS) | $(VENV)/bin/python
	$(call install,dev,--editable . --group dev)
	@touch $@ $(VENV)/.play $(VENV)/.web $(VENV)/.test

$(VENV)/.bench: pyproject.toml $(LOCKS) $(VENV)/.dev
	$(call install,bench,--group bench)
	@touch $@
