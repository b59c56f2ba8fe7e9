# make demo   emit, build and run the example kernel
# make test   everything that is checked before a change lands
# make golden write all expected output anew after a change of it

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint golden clean

demo: $(VENV)/.installed
	$(BIN)/python examples/add/demo.py build/demo

test: lint
	$(BIN)/python -m pytest -m "not gpu" -n auto

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

clean:
	rm -rf build $(VENV)
