# Everything runs in .venv, which is made from nothing on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# a path instead of an import hook, which type checkers of other projects do not follow
EDITABLE := --config-settings editable_mode=compat -e
# processes that run the tests: one per core, but each takes up to 3 GB of memory
WORKERS ?= logical
MOST_WORKERS ?= 4

.PHONY: demo kernels quick test test-all test-matrix distributions lint format mutants record docs pictures clean

$(VENV)/.installed-dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile $(EDITABLE) '.[dev]'
	touch $@

$(VENV)/.installed-demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile $(EDITABLE) '.[demo]'
	touch $@

$(VENV)/.installed-docs: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile $(EDITABLE) '.[docs]'
	touch $@

demo: $(VENV)/.installed-demo
	$(BIN)/python scripts/demo_wine.py --out out/wine

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python tools/lint_page.py
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests scripts tools

# compiled once here, while another process lints, and not by every process that runs tests
kernels: $(VENV)/.installed-dev
	$(BIN)/python tools/compile_kernels.py

# properties and slow twins on small cases, of the folders in the list
quick: kernels
	$(BIN)/python -m pytest -n 2 --dist worksteal --hypothesis-profile=quick @tests/quick.txt

test: lint kernels
	$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses $(MOST_WORKERS) --dist worksteal

test-all: lint kernels
	$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses $(MOST_WORKERS) --dist worksteal -m '' --hypothesis-profile=random

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python tools/lint_page.py --write

# changes of single places in the code, each of which some test must notice
mutants: $(VENV)/.installed-dev
	$(BIN)/python tools/mutants.py

# records what default options give, and prints every value that moved
record: kernels
	$(BIN)/python tests/recorded_defaults.py

# the site in out/site; warnings and broken links are errors
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# the pictures of README and guides; needs Chromium
pictures: $(VENV)/.installed-dev
	$(BIN)/python scripts/pictures.py

# wheel and sdist, installed in a clean environment; prints the size of the wheel and the time of its import
distributions: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m long tests/test_distributions.py

# installs and tests by every Python of the list that this machine has, with the newest and the lowest dependencies
test-matrix:
	$(PYTHON) tools/test_matrix.py
	$(PYTHON) tools/test_matrix.py --lowest --pythons 3.11 --out out/lowest
	$(PYTHON) tools/test_matrix.py --next-numba --pythons 3.13 --out out/next-numba

clean:
	rm -rf $(VENV) out build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
