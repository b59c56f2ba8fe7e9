# make demo   emit, build and run the example kernel
# make test   everything that is checked before a change lands
# make golden write all expected output anew after a change of it
# make reliability
#             write docs/reliability.md anew, from a run of all tests
# make test-sanitizers
#             run compiled launchers under sanitizers, half an hour
# make test-triton
#             fetch releases of Triton (2 GB) and compare launchers with theirs

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TRITON := build/triton
TRITON_RELEASES := 3.4.0 3.5.1 3.6.0 3.7.0 3.8.0 3.9.0

.PHONY: demo test reliability test-sanitizers test-triton lint golden clean

demo: $(VENV)/.installed
	$(BIN)/python examples/add/demo.py build/demo

test: lint
	$(BIN)/python -m pytest -m "not gpu and not triton" -n auto --reliability check

reliability: lint
	$(BIN)/python -m pytest -m "not gpu and not triton" -n auto --reliability write

test-sanitizers: $(VENV)/.installed-for-tests
	$(BIN)/python -m tests.sanitizers address -n auto
	$(BIN)/python -m tests.sanitizers thread -n auto

# Each in a folder of its own: one environment cannot have several.
test-triton: $(TRITON_RELEASES:%=$(TRITON)/%.fetched)
	LAUNCHGEN_TRITON=$(abspath $(TRITON)) $(BIN)/python -m pytest -m triton

lint: $(VENV)/.installed-for-tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

golden: $(VENV)/.installed-for-tests
	$(BIN)/python -m pytest -q tests/test_golden.py tests/test_cli.py tests/test_signature.py \
	    tests/test_inspect.py \
	    --snapshot-update

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-for-tests: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

$(TRITON)/%.fetched: | $(VENV)/.installed-for-tests
	rm -rf $(TRITON)/$*
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
	    --target $(TRITON)/$* triton==$*
	touch $@

clean:
	rm -rf build $(VENV)
