# Two commands on a fresh machine: `make run` and `make test`. Both set up .venv first.

PYTHON ?= python3
CORES ?= $(shell nproc 2>/dev/null || echo 2)
# an experiment file and further settings, e.g. make run EXPERIMENT=experiments/multi30k.yaml CONFIG=data_mirror=/data
EXPERIMENT ?=
CONFIG ?=
# rounds of test-kills, and the number of the first one
TIMES ?= 30
FIRST ?= 1
# damaged files that fuzz reads, of all formats together, and what they are drawn with
ROUNDS ?= 20000
SEED ?= 1

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# the experiment's name, as its file declares it
NAME := $(shell sed -n "s/^experiment: *[\"']\{0,1\}\([a-z0-9_]*\).*/\1/p" $(or $(EXPERIMENT),config.yaml))
# a bar for each rule and what fails; VERBOSE=1 shows of every job its files, resources and reason
VERBOSE ?=
OPTIONS := $(if $(VERBOSE),,--logger rich) $(if $(EXPERIMENT),--configfile $(EXPERIMENT)) $(if $(CONFIG),--config $(CONFIG))
# what Snakemake's report looks like, on a phone too, and what it opens on
REPORT := --report-stylesheet rules/report/report.css --report-metadata rules/report/metadata.yaml
# finished runs that rates are taken from; the tiny one compiles kernels
RUNS = $(filter-out results/tiny,$(patsubst %/benchmarks,%,$(wildcard results/*/benchmarks)))

.PHONY: run report test test-cluster test-kills fuzz lint bench clean

run: $(READY)
	$(BIN)/snakemake --cores $(CORES) $(OPTIONS)
	@$(BIN)/neural-smt report print_table --table results/$(NAME)/report/table1.csv

report: run
	$(BIN)/snakemake --report results/$(NAME)/report.html $(REPORT) $(OPTIONS)

test: $(READY)
	$(BIN)/python -m pytest

# the smallest experiment on a real Slurm of one node; EXPERIMENT=config.yaml runs the embedded one there
test-cluster: $(READY)
	$(BIN)/python tests/cluster/install_slurm.py
	CLUSTER_EXPERIMENT=$(EXPERIMENT) $(BIN)/python -m pytest -m cluster tests/cluster

# every stage of the smallest experiment (EXPERIMENT=config.yaml: of the embedded one) is killed at a random moment and
# run again, TIMES times; FIRST=7 TIMES=1 repeats the seventh
test-kills: $(READY)
	KILLS_EXPERIMENT=$(EXPERIMENT) KILLS_TIMES=$(TIMES) KILLS_FIRST=$(FIRST) $(BIN)/python -m pytest -s -m kills tests/kills

# every reader of a file reads files damaged at random: a result or one sentence, and a table of how many
fuzz: $(READY)
	$(BIN)/python tests/fuzz/fuzzer.py $(ROUNDS) $(SEED)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/snakemake --lint
	$(BIN)/python envs/audit.py

bench: $(READY)
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done
	@if [ -n "$(RUNS)" ]; then echo "== throughputs"; $(BIN)/neural-smt calibrate --results $(RUNS); fi

clean:
	rm -rf $(VENV) .snakemake results build .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): envs/requirements.lock pyproject.toml
	@echo "1 of 2: installing the packages of envs/requirements.lock (a minute or two) ..."
	@begun=$$(date +%s) && $(PYTHON) -m venv $(VENV) \
		&& $(BIN)/python -m pip install --quiet --requirement envs/requirements.lock \
		&& $(BIN)/python -m pip install --quiet --no-deps --editable . \
		&& echo "installed in $$(($$(date +%s) - begun)) s"
	@echo "2 of 2: compiling the kernels by running experiments/tiny.yaml once (a minute or two) ..."
	@begun=$$(date +%s); \
	kernels() { find "$${XDG_CACHE_HOME:-$$HOME/.cache}/neural_smt/numba" -name '*.nbc' -newer $(VENV)/pyvenv.cfg 2>&- | wc -l; }; \
	jobs() { find results/tiny/benchmarks -name '*.tsv' -newer $(VENV)/pyvenv.cfg 2>&- | wc -l; }; \
	(while sleep 10 >/dev/null 2>&1 && kill -0 $$$$ 2>&-; do echo "$$(kernels) kernels compiled, $$(jobs) jobs run ..."; done) & watch=$$!; \
	$(BIN)/snakemake --cores $(CORES) --configfile experiments/tiny.yaml --quiet all; failed=$$?; kill $$watch; \
	[ $$failed = 0 ] && echo "$$(kernels) kernels compiled, $$(jobs) jobs run in $$(($$(date +%s) - begun)) s" && touch $@
