# Two commands on a fresh machine: `make run` and `make test`. Both set up .venv first.

PYTHON ?= python3
CORES ?= $(shell nproc 2>/dev/null || echo 2)
# an experiment file and further settings, e.g. make run EXPERIMENT=experiments/multi30k.yaml CONFIG=data_mirror=/data
EXPERIMENT ?=
CONFIG ?=
# bench-check: keep what is measured
UPDATE ?=
# nodes of test-cluster: several need root
NODES ?= 1
# rounds of test-kills, and the number of the first one
TIMES ?= 30
FIRST ?= 1
# damaged files that fuzz reads, of all formats together, and what they are drawn with
ROUNDS ?= 20000
SEED ?= 1
# what mutate changes, an entry of tests/mutation/modules.yaml, and how many of its mutants are drawn
MODULE ?= adadelta
MUTANTS ?= 150
# tests of what Numba compiles
KERNELS := alignment decoding evaluation language_model networks phrases representations rescoring training tuning \
	vocabulary_selection

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# the experiment's name, as its file declares it
NAME := $(shell sed -n "s/^experiment: *[\"']\{0,1\}\([A-Za-z0-9_-]*\).*/\1/p" $(or $(EXPERIMENT),config.yaml))
# a bar for each rule and what fails; VERBOSE=1 shows of every job its files, resources and reason
VERBOSE ?=
OPTIONS := $(if $(VERBOSE),,--logger rich) $(if $(EXPERIMENT),--configfile $(EXPERIMENT)) $(if $(CONFIG),--config $(CONFIG))
# what Snakemake's report looks like, on a phone too, and what it opens on
REPORT := --report-stylesheet rules/report/report.css --report-metadata rules/report/metadata.yaml
COVERED = $(BIN)/coverage run -m pytest -o cache_dir=build/coverage/cache
STAGES = $(patsubst pkg/neural_smt/%/__init__.py,%,$(wildcard pkg/neural_smt/*/__init__.py))
# finished runs that rates are taken from; the tiny one compiles kernels
RUNS = $(filter-out results/tiny,$(patsubst %/benchmarks,%,$(wildcard results/*/benchmarks)))

# the tests in as many processes as there are cores
TESTS := $(BIN)/python -m pytest --numprocesses $(CORES) --dist loadfile --no-loadscope-reorder

.PHONY: run report test test-all test-cluster test-kills fuzz lint bench bench-check bench-gpu rehearsal coverage mutate wheel clean

run: $(READY)
	$(BIN)/snakemake --cores $(CORES) $(OPTIONS)
	@$(BIN)/neural-smt report print_table --table results/$(NAME)/report/table1.csv

report: run
	$(BIN)/snakemake --report results/$(NAME)/report.html $(REPORT) $(OPTIONS)

# kernels for GPUs are tested with Triton, which builds of PyTorch without CUDA do not bring
$(VENV)/.triton: $(READY)
	@$(BIN)/python -c "import triton" 2>&- || $(BIN)/python -m pip install --quiet --no-deps triton==3.7.1
	@touch $@

# all that is quick, and the tiny experiment from text to BLEU
test: $(VENV)/.triton
	$(TESTS) -m "not slow and not cluster and not kills"

# everything, with many more random examples
test-all: $(VENV)/.triton
	$(TESTS) --hypothesis-profile=many

# the smallest experiment on a real Slurm; EXPERIMENT=config.yaml runs the embedded one there
test-cluster: $(READY)
	$(BIN)/python tests/cluster/install_slurm.py
	CLUSTER_EXPERIMENT=$(EXPERIMENT) CLUSTER_NODES=$(NODES) $(BIN)/python -m pytest -m cluster tests/cluster

# every stage of the smallest experiment (EXPERIMENT=config.yaml: of the embedded one) is killed at a random moment and
# run again, TIMES times; FIRST=7 TIMES=1 repeats the seventh
test-kills: $(READY)
	KILLS_EXPERIMENT=$(EXPERIMENT) KILLS_TIMES=$(TIMES) KILLS_FIRST=$(FIRST) $(BIN)/python -m pytest -s -m kills tests/kills

# every reader of a file reads files damaged at random: a result or one sentence, and a table of how many
fuzz: $(READY)
	$(BIN)/python tests/fuzz/fuzzer.py $(ROUNDS) $(SEED)

# kernels are seen where they run as Python, some seconds for each test; what fails there runs again compiled, and then
# all other tests
coverage: $(READY)
	rm -rf build/coverage
	mkdir -p build/coverage
	-NUMBA_DISABLE_JIT=1 $(COVERED) $(KERNELS:%=tests/%)
	$(COVERED) --last-failed --last-failed-no-failures none $(KERNELS:%=tests/%) || test $$? -eq 5 # nothing failed
	$(COVERED) tests $(KERNELS:%=--ignore tests/%)
	$(BIN)/coverage combine --quiet
	@for stage in $(STAGES); do \
		echo "$$stage $$($(BIN)/coverage report --include="pkg/neural_smt/$$stage/*" | tail -1)"; \
	done
	@$(BIN)/coverage report --skip-covered --show-missing > build/coverage/missing.txt

# mutants of one module that its tests do not notice; once more: those of the last time
mutate: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[mutation]'
	$(BIN)/python tests/mutation/mutate.py $(MODULE) $(MUTANTS) $(SEED)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/snakemake --lint
	$(BIN)/python envs/audit.py

bench: $(READY)
	@for script in $(filter-out $(addprefix benchmarks/,check.py gpu.py rehearsal.py),$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script || exit 1; done
	@if [ -n "$(RUNS)" ]; then echo "== throughputs"; $(BIN)/neural-smt calibrate --results $(RUNS); fi

# what has become slower by more than 15 %, against benchmarks/ratios.json, in two processes; UPDATE=1 writes that anew
bench-check: $(READY)
	@$(BIN)/python benchmarks/check.py $(if $(UPDATE),--update) || { echo "once more:"; $(BIN)/python benchmarks/check.py; }

# how time, memory and disk grow with the data, PAIRS of it at a time
PAIRS ?= 250000 500000 1000000
rehearsal: $(READY)
	@$(BIN)/python benchmarks/rehearsal.py $(PAIRS) --cores $(CORES)

# every kind of network on a GPU, in ten minutes: a table, and rates for plans, in build/gpu
bench-gpu: $(READY)
	@$(BIN)/python benchmarks/gpu.py

# the package, in dist/, with the kernels that the experiment's systems and their exports to Moses call, for this version
# of Python
PORTABLE = XDG_CACHE_HOME=build/wheel/cache NUMBA_CACHE_DIR= NUMBA_CPU_FEATURES= \
	NUMBA_CPU_NAME=$(shell $(BIN)/python -c "from neural_smt.jit import LEVEL; print(LEVEL)")
TAGS = --python-tag=$(shell $(BIN)/python -c "import sys; print('cp%d%d' % sys.version_info[:2])") --plat-name=linux_x86_64
wheel: run
	$(BIN)/snakemake --cores $(CORES) $(OPTIONS) -- export
	rm -rf build/wheel && mkdir -p build/wheel
	cp -r pyproject.toml README.md LICENSE pkg build/wheel
	echo a man > build/wheel/text
	export $(PORTABLE); for system in $$(ls results/$(NAME)/decoding); do \
		$(BIN)/neural-smt translate $(NAME) --system $$system build/wheel/text || exit 1; \
		moses=results/$(NAME)/decoding/$$system/run1/moses/moses.ini; [ ! -e $$moses ] || $(BIN)/neural-smt decode \
			--moses-ini $$moses --compiled build/wheel/model.$$system --input build/wheel/text || exit 1; done
	mv build/wheel/cache/neural_smt/numba/* build/wheel/pkg/neural_smt/kernels
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist -C "--build-option=$(TAGS)" build/wheel

clean:
	rm -rf $(VENV) .snakemake build .pytest_cache .ruff_cache .mypy_cache
	find results -mindepth 1 ! -path results/README.md -delete
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
