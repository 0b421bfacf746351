# Everything runs in .venv, which the first target that needs it sets up.
PYTHON ?= python3
BIN := .venv/bin

PY ?= $(CURDIR)/$(BIN)/python

.PHONY: core sanitized sanitize demo test test-slow bayes lint lint-core format bench paper fuzz docs release clean

# What pyproject.toml builds with. It stays in .venv, so that the build folder is good for the next build, too. CMake
# and Ninja are the system's where it has them: 90 MB less. CMake has the policy CMP0120 from 3.20 on.
BUILD := 'scikit-build-core>=0.11' 'nanobind>=2.7' \
  $(shell cmake --help-policy CMP0120 >/dev/null 2>&1 || echo "'cmake>=3.20'") \
  $(shell command -v ninja >/dev/null || echo "'ninja>=1.11'")

.venv/.demo: pyproject.toml CMakeLists.txt $(wildcard src/core/*) $(wildcard src/core/bindings/*)
	@command -v c++ g++ clang++ >/dev/null || { echo "partita needs a C++ compiler: apt-get install g++, or xcode-select --install"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "partita needs Python 3.11 or later; say which: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(BUILD)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	@touch $@

.venv/.develop: .venv/.demo
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[test,lint,release]'
	@touch $@

.venv/.docs: .venv/.develop
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[docs]'
	@touch $@

core:  ## the native core alone, into src/partita, for work on it: make core PY=python
	PATH=$(dir $(PY)):$$PATH cmake -S . -B build/dev -G Ninja -DPython_EXECUTABLE=$(PY) > /dev/null
	PATH=$(dir $(PY)):$$PATH cmake --build build/dev
	rm -f src/partita/_core.*so && cp build/dev/_core.*so build/dev/_core.pyi src/partita/

# The core with the address and undefined-behaviour sanitizers and the assertions of the standard library, in a copy
# of the package. `sitecustomize` sees to it that the copy is what is imported, though .venv has the package, too.
SANITIZED := build/sanitize/python
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS
UNDER := env PYTHONPATH=$(CURDIR)/$(SANITIZED) PARTITA_SANITIZED=1 \
  LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1

sanitized:
	PATH=$(dir $(PY)):$$PATH cmake -S . -B build/sanitize -G Ninja -DPython_EXECUTABLE=$(PY) -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g" -DCMAKE_CXX_FLAGS="$(SANITIZE)" > /dev/null
	PATH=$(dir $(PY)):$$PATH cmake --build build/sanitize --target _core
	rm -rf $(SANITIZED) && mkdir -p $(SANITIZED) && cp -r src/partita $(SANITIZED)/
	rm -f $(SANITIZED)/partita/_core.*so && cp build/sanitize/_core.*so $(SANITIZED)/partita/
	cp tools/sanitized.py $(SANITIZED)/sitecustomize.py

# Readers, figures and pages are Python alone. A process with little memory has no room for a sanitizer, and one that
# preloads a library of its own, or is interrupted while it starts, has none that works.
UNSANITIZED := $(addprefix --ignore=tests/,io plots reporting documentation studies test_validate.py cli/test_faults.py cli/test_interrupts.py)

sanitize: .venv/.develop sanitized  ## the default tests, and bad arguments for every binding, on a core with sanitizers
	$(UNDER) $(PY) fuzz/bindings.py --rounds 300 --log build/sanitize/calls
	$(UNDER) $(PY) -m pytest -n 2 --dist loadfile --durations 10 $(UNSANITIZED) tests

demo: .venv/.demo  ## the main job, end to end, on data that come with the package
	$(BIN)/python examples/demo.py

test: .venv/.develop  ## the default tests
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations 15

test-slow: .venv/.develop  ## what takes longer
	$(BIN)/python -m pytest -m slow

bayes: .venv/.develop  ## mixtures of PyMC and NumPyro, which are installed for it
	$(BIN)/pip install -q pymc numpyro funsor
	$(BIN)/python -m pytest tests/parameters -m "slow or not slow"
	$(BIN)/python examples/pymc_mixture.py
	$(BIN)/python examples/numpyro_mixture.py

lint: .venv/.develop  ## style, types (those of the core from its generated stub), layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cp $$($(BIN)/python -c 'from partita import _core; print(_core.__file__)' | sed 's|[^/]*$$|_core.pyi|') src/partita/
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) lint-core PY=$(PY)

# Debian's clang-format and clang-tidy (14); other versions format otherwise.
CORE := $(wildcard src/core/*.?pp src/core/bindings/*.?pp)
lint-core:  ## the core's format, and what clang-tidy finds in it
	@if command -v clang-format > /dev/null; then clang-format --dry-run -Werror $(CORE); \
	else echo "WARNING: clang-format is absent: THE FORMAT OF THE CORE IS NOT CHECKED" >&2; fi
	@if command -v run-clang-tidy > /dev/null; then \
	  PATH=$(dir $(PY)):$$PATH cmake -S . -B build/tidy -G Ninja -DPython_EXECUTABLE=$(PY) -DCMAKE_EXPORT_COMPILE_COMMANDS=ON > /dev/null && \
	  run-clang-tidy -quiet -p build/tidy '$(CURDIR)/src/core/.*' 2> build/tidy/log > build/tidy/found || { cat build/tidy/found build/tidy/log; exit 1; }; \
	else echo "WARNING: clang-tidy is absent: THE CORE IS NOT LOOKED THROUGH FOR MISTAKES" >&2; fi

format: .venv/.develop
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@if command -v clang-format > /dev/null; then clang-format -i $(CORE); fi

docs: .venv/.docs  ## the site in docs/_build/html, every page of it read by a program and in a browser
	rm -rf docs/_build docs/api docs/gallery docs/project
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	PARTITA_SITE=docs/_build/html $(BIN)/python -m pytest tests/documentation/test_site.py
	@echo "The site, to open in a browser: docs/_build/html/index.html"

bench: .venv/.develop  ## one table: time, memory and quality beside every rival on this machine
	$(BIN)/python benchmarks/table.py

paper: .venv/.develop  ## the paper's experiments beside the paper's numbers, into out/paper; QUICK=1: a short run of each
	$(BIN)/python -m studies --resume $(if $(QUICK),--quick -o out/paper-quick)

release: .venv/.develop  ## wheel and sdist in dist/, checked and installed into a clean environment
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	PARTITA_DIST=dist $(BIN)/python -m pytest -m slow tests/test_release.py

fuzz: .venv/.develop  ## ten minutes of bad arguments for the core, an hour of damaged files for every reader
	$(BIN)/python -m pip install --quiet atheris
	$(BIN)/python fuzz/bindings.py --seconds 600
	$(BIN)/python fuzz/run.py --seconds 3600 --output out/fuzz

clean:
	rm -rf .venv build out dist docs/_build docs/api docs/gallery docs/project .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
