# A thin front: every target is one script or one call of CMake. `make demo` and `make test` set up
# all that they need.
SHELL := /bin/bash
PYTHON := .venv/bin/python
# The compiler looks for NVIDIA's assembler in the virtual environment too.
export VIRTUAL_ENV := $(CURDIR)/.venv
JOBS ?= $(shell scripts/jobs)

.PHONY: demo test build debug setup format check-format install wheel docs gpu-pack clean

# A clone that is not configured compiles several files at once; `cmake --preset release`, which a working tree is
# configured by, does not.
FRESH := cmake --preset release -DPANTILE_UNITY=ON
# Builds what the demonstration needs and no more, in the folder of `make build`.
demo:
	scripts/setup demo
	@[ -f build/build.ninja ] || $(FRESH) -DPANTILE_TESTS=OFF
	cmake --build build --target _pantile -j $(JOBS)
	PYTHONPATH=build/python $(PYTHON) -m pantile.demo

test: build
	$(PYTHON) scripts/test

setup:
	scripts/setup

build: setup
	@[ -f build/build.ninja ] || $(FRESH)
	@! grep -q PANTILE_TESTS:BOOL=OFF build/CMakeCache.txt || cmake build -DPANTILE_TESTS=ON
	cmake --build --preset release -j $(JOBS)

debug: setup
	@[ -f build-debug/build.ninja ] || cmake --preset debug
	cmake --build --preset debug -j $(JOBS)
	$(PYTHON) scripts/test --build build-debug unit lit

format: setup
	scripts/check --fix

check-format: setup
	scripts/check

PREFIX ?= /usr/local
install: build
	cmake --install build --component cpp --prefix $(PREFIX)

wheel: setup
	$(PYTHON) scripts/wheels

docs: setup
	@[ -x build-docs/venv/bin/sphinx-build ] || \
	  ($(PYTHON) -m venv build-docs/venv && build-docs/venv/bin/pip install -q -r docs/requirements.txt)
	build-docs/venv/bin/python scripts/docs.py

gpu-pack: build
	tests/gpu/pack

clean:
	rm -rf build build-debug build-wheel
