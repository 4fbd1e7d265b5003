# Everything sets itself up: a machine with Python 3.11+, pip and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIN := -c constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo example reproduce test test-all check servers docs dist label-studio adapters adapters-apart mlflow platforms engines bench study seeds clean

# Incomes of 30 surveys, bought anew as the labels of a drifting model: what it costs, what else would, and a report.
demo: $(VENV)/.demo
	$(BIN)/driftpace backtest gss_income --epsilon 0.02 --out out

example: $(VENV)/.example
	$(BIN)/python examples/drifting_regression.py --out out

# Every figure and number of the paper's experiments, beside the default method: a page and its pictures.
reproduce: $(VENV)/.reproduce
	$(BIN)/python -m paper --out out/paper

# A PostgreSQL server and a browser are started by the tests themselves; where they are missing, Debian's packages are installed.
test: check servers
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

# Everything: the long studies, the real Label Studio server, the adapters of other libraries, and the statistical tests under other seeds.
test-all: check servers
	$(BIN)/pytest -n 2 --dist worksteal
	$(MAKE) label-studio
	$(MAKE) adapters
	$(MAKE) adapters-apart
	$(MAKE) mlflow
	$(MAKE) platforms
	$(MAKE) engines
	$(MAKE) seeds

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/codespell src paper tests docs examples benchmarks scripts README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md
	$(BIN)/deptry src
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --offline --quiet .github/workflows

# The documentation as a site, in build/site; a broken link or an undocumented public name fails.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Wheel and source distribution, checked and tried in an environment of their own.
dist: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	bash scripts/try_wheel.sh dist/*.whl

servers:
	bash scripts/servers.sh

# The exchange with a real Label Studio server, in an environment of its own; make test runs it against what was recorded here.
label-studio: $(VENV)/.dev
	test -x .venv-label-studio/bin/label-studio || ($(PYTHON) -m venv .venv-label-studio && .venv-label-studio/bin/pip install --quiet label-studio==1.23.2)
	DRIFTPACE_LABEL_STUDIO=$(CURDIR)/.venv-label-studio/bin/label-studio $(BIN)/pytest tests/labelling

# The adapters of CatBoost, torch and ONNX, in an environment of their own; make test runs those of LightGBM, XGBoost and scikit-learn.
adapters:
	test -x .venv-adapters/bin/pytest || ($(PYTHON) -m venv .venv-adapters && .venv-adapters/bin/pip install --quiet $(PIN) -e '.[adapters]')
	.venv-adapters/bin/pytest tests/models docs/howto/any-model.md

# Each adapter in an environment of its own, with nothing but the extra of its library.
adapters-apart:
	bash scripts/try_adapters.sh

# A campaign in a real store of MLflow, in an environment of its own, whose requirements contradict those of other packages.
mlflow:
	test -x .venv-mlflow/bin/pytest || ($(PYTHON) -m venv .venv-mlflow && .venv-mlflow/bin/pip install --quiet -e '.[mlflow,cli,tables,lightgbm]' mlflow-skinny==3.17.2 alembic==1.20.1 pytest==9.2.0 pytest-timeout==2.4.0 hypothesis)
	.venv-mlflow/bin/pytest tests/mlflow

# Campaigns in jobs of Airflow, Prefect and Dagster, each in an environment of its own, because their requirements contradict each other.
platforms: .venv-airflow/.ready .venv-prefect/.ready .venv-dagster/.ready
	for name in airflow prefect dagster; do .venv-$$name/bin/pytest tests/platforms || exit 1; done

.venv-airflow/.ready: PLATFORM = apache-airflow==3.3.2
.venv-prefect/.ready: PLATFORM = prefect==3.8.8 'fastapi<0.150'
.venv-dagster/.ready: PLATFORM = dagster==1.13.28
.venv-%/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/pip install --quiet -e '.[store]' $(PLATFORM) pytest==9.2.0 pytest-timeout==2.4.0 hypothesis
	touch $@

# Fleets on Ray and Spark, whose Java runtime is Debian's package where it is missing, in an environment of their own; make test runs Dask.
engines:
	bash scripts/servers.sh java
	test -x .venv-engines/bin/pytest || ($(PYTHON) -m venv .venv-engines && .venv-engines/bin/pip install --quiet $(PIN) -e '.[engines]')
	.venv-engines/bin/pytest tests/executors

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# The default tracker in 67 populations of known truth, 200 runs each (about two hours on two cores), and in the scenarios of the
# half that it may be tuned on and of the half that is only reported, 100 runs each (about an hour).
study: $(VENV)/.bench
	$(BIN)/python -m benchmarks synthetic_study
	$(BIN)/python -m benchmarks synthetic_study --half tuned --runs 100
	$(BIN)/python -m benchmarks synthetic_study --half held-out --runs 100

# The statistical tests again, under seeds nobody has looked at: each is meant to pass.
seeds: $(VENV)/.dev
	for seed in 1 2 3; do DRIFTPACE_TEST_SEED=$$seed $(BIN)/pytest -n 2 --dist worksteal -m statistical || exit 1; done

clean:
	rm -rf $(VENV) .venv-label-studio .venv-adapters .venv-mlflow .venv-engines .venv-airflow .venv-prefect .venv-dagster out build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet $(PIN) -e '.[cli,report]'
	touch $@

$(VENV)/.example: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet $(PIN) -e '.[figures]'
	touch $@

$(VENV)/.reproduce: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet $(PIN) -e '.[cli,report,figures]'
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet $(PIN) -e '.[dev]'
	touch $@

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet $(PIN) -e '.[docs]'
	touch $@

$(VENV)/.release: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet $(PIN) -e '.[release]'
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet $(PIN) -e '.[bench]'
	touch $@
