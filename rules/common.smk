"""What the rules share: the checked configuration, names of things, and functions that find inputs."""

import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

sys.path.insert(0, str(Path(workflow.basedir) / "pkg"))

from neural_smt.workflow.code_digest import step_digest
from neural_smt.configuration import complete
from neural_smt.corpus.archives import archive_name, collect_archives
from neural_smt.corpus.sources import published_sources
from neural_smt.declared_networks import (
    DEFAULT_SETS,
    compared_classes,
    joint_inputs,
    kind_of,
    lending_network,
    scoring_networks,
    sentence_vocabularies,
    training_settings,
)
from neural_smt.errors import UserError, sentence
from neural_smt.layout import TABLES, Layout
from neural_smt.network_kinds import KINDS
from neural_smt.report.files import ReportFiles, listed_paths, read_pages
from neural_smt.workflow.run_lock import begin_run
from neural_smt.systems import (
    drawn_pairs,
    feature_groups,
    is_rescored,
    rescored_candidates,
    rescores_lattices,
    rescoring_network,
    resolve_data,
    searched_network,
    training_threads,
    translating_words,
    translation,
    used_networks,
)

try:
    config = complete(config)
except UserError as error:
    raise WorkflowError(sentence(error))

if workflow.output_settings.dryrun and config["check"]["texts"]:
    # a start for real does so in its first job, once all texts are fetched
    from neural_smt.planning.checking import check_here

    try:
        check_here(config)
    except UserError as error:
        raise WorkflowError(sentence(error))

if workflow.is_main_process and not workflow.dryrun:
    # a run that was killed here left locks, and jobs that are about to end
    begin_run(config["experiment"], workflow.local_exec)

# where files lie that the search and translators need
LAYOUT = Layout(config)
# files that the report and tests of significance are made from, and all pages that a report can have
FILES = ReportFiles(config)
EVERY_PAGE = read_pages()
EXPERIMENT = config["experiment"]
CORPUS = config["corpus"]
ARCHIVES = collect_archives(CORPUS["sources"])
SYSTEMS = config["systems"]
SOURCE = config["languages"]["source"]
TARGET = config["languages"]["target"]
SETS = [CORPUS["dev"], *CORPUS["test"]]
RUNS = list(range(1, config["tuning"]["runs"] + 1))
NETWORK_SETTINGS = config["networks"]
NETWORKS = used_networks(config, "encoder_decoder")
CSLMS = used_networks(config, "cslm")
RECURRENT = used_networks(config, "recurrent")
COMPARED_CLASSES = compared_classes(config)
JOINT_INPUTS = {name: settings for name, settings in joint_inputs(config).items() if name in RECURRENT}
RESCORES_LATTICES = [name for name in SYSTEMS if rescores_lattices(config, name)]
RESCORES_LISTS = [name for name, system in SYSTEMS.items() if system["rescore"] and name not in RESCORES_LATTICES]
TRANSLATED = [name for name, system in SYSTEMS.items() if translation(system)]
TUNED = [name for name in SYSTEMS if name not in TRANSLATED]
SEARCHED = [name for name in TUNED if not is_rescored(SYSTEMS[name])]
RESCORED = [name for name in TUNED if name not in SEARCHED]
EXPORTED = [name for name in SEARCHED if searched_network(config, name) is None]
# several networks train (and score) side by side, which takes less time than one after the other with more threads
NETWORK_THREADS = 2 if len(NETWORKS) + len(CSLMS) == 1 else 1
USES_GPU = int(config["device"] == "cuda")
# that train a network together, each on a GPU of its own or with its own threads
PROCESSES = config["training"]["processes"]
# jobs that share the work of a stage; with one, the jobs are those of whole texts and tables
SHARDS = config["shards"]
# data that systems are built from besides the selected ones; their results lie in folders of their own
VARIANTS = sorted({resolve_data(SYSTEMS, name) for name in SYSTEMS} - {"selected"})
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
    return [path for name in systems for path in results(pattern, system=name, run=runs(name), **values)]


def runs(system):
    """The numbers of a system's runs: an attention network has one, for nothing of it is tuned."""
    return RUNS[:1] if system in TRANSLATED else RUNS


def of_shards(pattern):
    """A file of a job, or those of the shards that share its work."""
    return [pattern] if SHARDS == 1 else [f"{pattern}.{shard}" for shard in scatter.shards("{scatteritem}")]


def results_of_all_data(pattern, **values):
    """As `results`, and the same for every variant of the data that systems use."""
    return [*results(pattern, **values), *results(f"data/{{variant}}/{pattern}", variant=VARIANTS, **values)]


def step(function, *modules):
    """The params of a rule that say which function it calls (``module:name``), and what code that depends on.

    The digest is of the files that the function's module and the further ``modules`` reach: when these change, the rule
    runs again.
    """
    return {"step": function, "code": step_digest(function, *modules)}


def raw_text(source, side):
    """The text of one side of a source (a language, or `alignment`) before tokenisation."""
    declared = CORPUS["sources"][source]
    if "join" in declared:
        return f"results/{{experiment}}/corpus/joined/{source}.{side}.gz"
    if "part" not in declared:
        folder = "extracted" if "member" in declared[side] else "raw"
        return f"results/{{experiment}}/corpus/{folder}/{source}.{side}.gz"
    suffix = "align" if side == "alignment" else f"{side}.gz"
    return f"results/{{experiment}}/corpus/generated/{declared['part']}.{suffix}"


def archive_path(source, side):
    """Where the archive that one side of a source is a member of is kept."""
    return f"results/{EXPERIMENT}/corpus/archives/{archive_name(CORPUS['sources'][source][side])}"


# source -> side -> its text, of all that is not generated: those that are joined one by one
FETCHED_TEXTS = {
    name: {side: raw_text(name, side).format(experiment=EXPERIMENT) for side in sides}
    for name, sides in published_sources(config)
}


def tokenised(sources, side):
    """Tokenised text of one source or of several."""
    pattern = "results/{{experiment}}/corpus/tokenised/{source}.{side}"
    return expand(pattern, source=sources, side=side)


def tokenised_shards(sources, side):
    """Training text, which may be long: the shards of each source, one source after the other."""
    return [shard for source in sources for shard in of_shards(tokenised([source], side)[0])]


def cleaned_in_domain(side):
    """In-domain text after cleaning; nothing where the experiment names none."""
    return [f"results/{{experiment}}/corpus/in_domain.{side}"] if CORPUS["in_domain"] else []


# how lines are chosen of each text that they are chosen of
SELECTED = {"train": config["selection"]["method"]}
if CORPUS["monolingual"]:
    SELECTED["monolingual"] = config["selection"]["monolingual_method"]
SHARDED_POOLS = [text for text, method in SELECTED.items() if SHARDS > 1 and method != "none"]


def pool_texts(wildcards):
    """The sides of a text that lines are chosen of: both of pairs, that of the target language alone of extra text."""
    sides = [SOURCE, TARGET] if wildcards.text == "train" else [TARGET]
    return [f"results/{wildcards.experiment}/corpus/{wildcards.text}.{side}" for side in sides]


def in_domain_texts(wildcards):
    """The same sides of the in-domain text."""
    sides = [SOURCE, TARGET] if wildcards.text == "train" else [TARGET]
    return [f"results/{wildcards.experiment}/corpus/in_domain.{side}" for side in sides] if CORPUS["in_domain"] else []


def scores_of_shards(text):
    """The scores of a text's lines, where shards compute them."""
    pattern = f"results/{{{{experiment}}}}/selection/shards/{text}.{{scatteritem}}.npy"
    return gather.shards(pattern) if text in SHARDED_POOLS else []


def scores_of(name):
    """The scores that selection gave a text, where a variant of the data takes as many lines as it kept."""
    scores = f"results/{EXPERIMENT}/selection/{name}.scores.tsv.gz"
    return lambda wildcards: [scores] if wildcards.variant == "random" else []


def candidate_text(text, side):
    """One side of the training text or of a set."""
    pattern = f"selection/train.{side}" if text == "train" else f"corpus/tokenised/{text}.{side}"
    return f"results/{EXPERIMENT}/{pattern}"


def vocabulary_texts(language):
    """All cleaned text of a language, before selection: one id per word, whatever is selected."""
    names = ["train", *(["in_domain"] if CORPUS["in_domain"] else [])]
    if language == TARGET and CORPUS["monolingual"]:
        names.append("monolingual")
    return [f"results/{{experiment}}/corpus/{name}.{language}" for name in names]


def language_model_texts():
    """Text of the language model: the target side of the training pairs, then selected extra text."""
    names = ["train", "monolingual"] if CORPUS["monolingual"] else ["train"]
    return [f"results/{{data}}/selection/{name}.{TARGET}" for name in names]


def table_folder(wildcards):
    """The folder of a phrase table of the selected data, `extracted` or `proposed`."""
    return f"results/{wildcards.experiment}/{TABLES[wildcards.table]}"


def system_inputs(wildcards):
    """A system and all that it is made of."""
    return LAYOUT.system_inputs(wildcards.system)


def arpa(wildcards):
    """The language model of a system as ARPA."""
    return f"{LAYOUT.data_folder(wildcards.system)}/language_model/model.arpa.gz"


def optional(path):
    """A path as a list of inputs, which is empty for None."""
    return [] if path is None else [path]


def first_weights(wildcards):
    """What tuning a system with features of its own starts from: its base's tuned weights, if the experiment wants."""
    system = SYSTEMS[wildcards.system]
    wanted = config["tuning"]["start"] == "base" and "base" in system and system["features"]
    return [base_weights(wildcards)] if wanted else []


def base_weights(wildcards):
    """The tuned weights of a system's base."""
    base = SYSTEMS[wildcards.system]["base"]
    return LAYOUT.weights(base, wildcards.run)


def one_of(names):
    """A wildcard constraint: one of these names, or nothing at all when there is none."""
    return "|".join(names) or "(?!)"


def run_seed(wildcards):
    """A seed of its own for every tuning run."""
    return 1000 * config["seed"] + int(wildcards.run)


def memory(gigabytes):
    """Memory of a job in MB, doubled at every retry."""
    return lambda wildcards, attempt: 1000 * gigabytes * 2 ** (attempt - 1)
