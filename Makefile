# Everything runs in .venv, which the first target that needs it sets up.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow lint format bench fuzz mutate docs release clean

.venv/.demo: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "partita needs Python 3.11 or later; say which: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/.develop: .venv/.demo
	$(BIN)/python -m pip install --quiet --editable '.[test,lint,release]'
	@touch $@

.venv/.docs: .venv/.develop
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

demo: .venv/.demo  ## the main job, end to end, on data that come with the package
	$(BIN)/python examples/demo.py

test: .venv/.develop  ## the default tests
	$(BIN)/python tests/warm_up.py
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations 15

test-slow: .venv/.develop  ## what takes longer
	$(BIN)/python -m pytest -m slow

lint: .venv/.develop  ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.develop
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/.docs  ## the site in docs/_build/html, every page of it read by a program and in a browser
	rm -rf docs/_build docs/api docs/gallery docs/project
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	PARTITA_SITE=docs/_build/html $(BIN)/python -m pytest tests/documentation/test_site.py
	@echo "The site, to open in a browser: docs/_build/html/index.html"

bench: .venv/.develop  ## one table: time, memory and quality beside every rival on this machine
	$(BIN)/python benchmarks/table.py

release: .venv/.develop  ## wheel and sdist in dist/, checked and installed into a clean environment
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	PARTITA_DIST=dist $(BIN)/python -m pytest -m slow tests/test_release.py

fuzz: .venv/.develop  ## an hour of damaged files for every reader
	$(BIN)/python -m pip install --quiet atheris
	$(BIN)/python fuzz/run.py --seconds 3600 --output out/fuzz

mutate: .venv/.develop  ## small changes to kernels and losses: which does no test notice?
	$(BIN)/python tools/mutate.py --output out/mutants.jsonl

clean:
	rm -rf .venv out dist docs/_build docs/api docs/gallery docs/project .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
