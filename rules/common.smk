"""What the rules share: the checked configuration, names of things, and functions that find inputs."""

import re
import sys
from itertools import pairwise
from pathlib import Path

from snakemake.exceptions import WorkflowError

sys.path.insert(0, str(Path(workflow.basedir) / "pkg"))

from neural_smt.workflow.code_digest import step_digest
from neural_smt.experiment.configuration import complete, read_configuration
from neural_smt.corpus.sources import collect_archives, published_sources
from neural_smt.errors import UserError, sentence
from neural_smt.experiment.networks import DEFAULT_SETS, KINDS
from neural_smt.report.files import EVERY_PAGE, ReportFiles, listed_paths
from neural_smt.workflow.inputs import Inputs
from neural_smt.workflow.run_lock import begin_run, lost_outputs
from neural_smt.experiment.systems import drawn_pairs

try:
    # Snakemake has read these files, but takes the last of two keys and one experiment over another
    read_configuration(map(Path, workflow.configfiles))
    config = complete(config)
    if workflow.output_settings.dryrun and config["check"]["texts"]:
        # a start for real does so in its first job, once all texts are fetched
        from neural_smt.planning.checking import check_here

        check_here(config)
    elif workflow.is_main_process and not workflow.output_settings.dryrun:
        # a run that was killed here left locks, and jobs that are about to end
        begin_run(config["experiment"], workflow.local_exec)
except (UserError, OSError) as error:
    raise WorkflowError(sentence(error) or error)

# where files lie, and which of them the search, translators, tests of significance and the report are made from
FILES = ReportFiles(config)
# what rules read, where that depends on wildcards
INPUTS = Inputs(FILES)
EXPERIMENT = config["experiment"]
CORPUS = config["corpus"]
# what fast_align aligns forwards: all text, or, where that is not the aligner, for its translation table alone
FAST_ALIGN = "forward" if config["alignment"]["aligner"] == "fast_align" else "fast_align"
ARCHIVES = collect_archives(CORPUS["sources"])
SYSTEMS = config["systems"]
SOURCE = config["languages"]["source"]
TARGET = config["languages"]["target"]
SETS = FILES.sets
RUNS = list(range(1, config["tuning"]["runs"] + 1))
NETWORK_SETTINGS = config["networks"]
NETWORKS = FILES.used_networks("encoder_decoder")
CSLMS = FILES.used_networks("cslm")
RECURRENT = FILES.used_networks("recurrent")
LEARNING_CURVES = [name for name in FILES.used_networks("attention") if NETWORK_SETTINGS[name]["learning_curve"]]
SENTENCE_VOCABULARIES = FILES.sentence_vocabularies
JOINT_INPUTS = {name: settings for name, settings in FILES.joint_inputs.items() if name in RECURRENT}
RESCORES_LATTICES = [name for name in SYSTEMS if FILES.rescores_lattices(name)]
RESCORES_LISTS = [name for name in SYSTEMS if FILES.rescored_candidates(name) == "lists"]
TRANSLATED, TUNED, SEARCHED = FILES.translated, FILES.tuned, FILES.searched
EXPORTED = [name for name in SEARCHED if FILES.searched_network(name) is None]
USES_GPU = int(config["device"] == "cuda")
# that train a network together, each on a GPU of its own or with its own threads
PROCESSES = config["training"]["processes"]
# jobs that share the work of a stage
SHARDS = config["shards"]
# data that systems are built from besides the selected ones; their results lie in folders of their own
VARIANTS = FILES.variants
VARIANT = r"all|random(?:_\d+)?"


scattergather:
    shards=SHARDS,


wildcard_constraints:
    experiment=EXPERIMENT,
    # where the results of one choice of data lie: the selected ones', or those of a variant
    data=f"{EXPERIMENT}(?:/data/(?:{VARIANT}))?",
    variant=VARIANT,
    language=f"{SOURCE}|{TARGET}",
    source="|".join(CORPUS["sources"]),
    system="|".join(SYSTEMS),
    set="|".join(SETS),
    run=r"\d+",


def results(pattern, **values):
    """Paths of this experiment's results: every combination of the given values."""
    return expand(f"results/{EXPERIMENT}/{pattern}", **values)


def results_of_runs(pattern, systems=SYSTEMS, **values):
    """As `results`, of every run of systems."""
    return [path for name in systems for path in results(pattern, system=name, run=FILES.runs(name), **values)]


def results_of_all_data(pattern, **values):
    """As `results`, and the same for every variant of the data that systems use."""
    return [*results(pattern, **values), *results(f"data/{{variant}}/{pattern}", variant=VARIANTS, **values)]


def step(function, modules=None):
    """The params that say which function a job calls (``module:name``), and what code that depends on.

    The digest is of the files that the function's module reaches, and the modules that it finds by name (``modules`` of
    the wildcards): when these change, its jobs run again.
    """
    if modules is None:
        return {"step": function, "code": step_digest(function)}
    return {"step": function, "code": lambda wildcards: step_digest(function, *modules(wildcards))}


# source -> side -> its text, of all that is not generated: those that are joined one by one
FETCHED_TEXTS = {
    name: {side: INPUTS.raw_text(name, side) for side in sides} for name, sides in published_sources(config)
}


def tokenised(sources, side):
    """Tokenised text of one source or of several."""
    pattern = "results/{{experiment}}/corpus/tokenised/{source}.{side}"
    return expand(pattern, source=sources, side=side)


# what stands behind the name of a file that shards make: their names, or nothing where one job makes all of it; and
# what becomes of such a file: of a shard's, nothing is kept once they are joined
SHARD = r"(\.\d+-of-\d+){%d}" % (SHARDS > 1)
of_shard = temp if SHARDS > 1 else str


def shard_name(wildcards):
    """The shard that a job is, or None where it does all."""
    return wildcards.scatteritem[1:] or None


# texts whose lines shards score; with one shard the job that selects them does
SHARDED_POOLS = [text for text, settings in INPUTS.selection.items() if SHARDS > 1 and settings["method"] != "none"]


def scores_of_shards(text):
    """The scores of a text's lines, where shards compute them."""
    pattern = f"results/{{{{experiment}}}}/selection/shards/{text}.{{scatteritem}}.safetensors"
    return gather.shards(pattern) if text in SHARDED_POOLS else []


def training_text(sources, side):
    """Tokenised training text, which may be long: the shards of each source, one source after the other."""
    names = tokenised(sources, side)
    return names if SHARDS == 1 else [f"{name}.{shard}" for name in names for shard in scatter.shards("{scatteritem}")]


def need(rows, message):
    """Nothing, where a paper's tables have rows; else say what is missing."""
    if not rows:
        raise WorkflowError(f"experiment {EXPERIMENT}: {message}")
    return []


def one_of(names):
    """A wildcard constraint: one of these names, or nothing at all when there is none."""
    return "|".join(names) or "(?!)"


def shard_time(hours):
    """Minutes that a job with a shard may take: its part of what the whole may, a quarter of an hour at least."""
    return max(15, 60 * hours // SHARDS)


def memory(gigabytes):
    """Memory of a job in MB, doubled at every retry."""
    return lambda wildcards, attempt: round(1000 * gigabytes) * 2 ** (attempt - 1)
