"""Neural SMT: from raw parallel text to BLEU tables. Every stage's name is a target; `all` is the default."""

from snakemake.utils import min_version

min_version("9.20")


# with --sdm apptainer alone; docs/clusters.md says how it is made
container: "neural-smt.sif"


# an experiment given with --configfile stands alone; the default one is not mixed into it
if "experiment" not in config:

    configfile: "config.yaml"


include: "rules/common.smk"
include: "rules/corpus.smk"
include: "rules/selection.smk"
include: "rules/alignment.smk"
include: "rules/phrases.smk"
include: "rules/language_model.smk"
include: "rules/shortlist.smk"
include: "rules/vocabulary_selection.smk"
include: "rules/representations.smk"
include: "rules/training.smk"
include: "rules/rescoring.smk"
include: "rules/decoding.smk"
include: "rules/decoding_lists.smk"
include: "rules/decoding_lattices.smk"
include: "rules/decoding_attention.smk"
include: "rules/tuning.smk"
include: "rules/evaluation.smk"
include: "rules/analysis.smk"
include: "rules/report_sentences.smk"
include: "rules/report.smk"


report: "rules/report/workflow.rst"


# Its limit of jobs a second makes Snakemake's scheduler look again a second after each job, and then every second for
# ever, once for each job that has ended: hundreds of jobs take a core for themselves. On one machine nothing needs it.
onstart:
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


rule all:
    default_target: True
    input:
        rules.report.input,
        rules.alignment.input,
        rules.shortlist.input,
        # there are results that were made from older ones of these
        lambda wildcards: [
            name for name in lost_outputs(EXPERIMENT) if any(r.is_producer(name) for r in workflow.rules)
        ],


rule cho2014:
    """Cho et al. (2014): the table of systems, what the networks have learnt, their speed, and all that leads there."""
    input:
        rules.all.input,


rule auli2013:
    """Auli et al. (2013): recurrent and joint models on lattices and lists, all their tables, and all that leads there."""
    input:
        rules.all.input,
        lambda wildcards: need(
            RESCORES_LATTICES,
            "no system rescores lattices; take --configfile experiments/multi30k_fr_en.yaml "
            "or let systems rescore with a recurrent model",
        ),


rule mi2016:
    """Mi et al. (2016): attention networks with target vocabularies of sentences, their tables, and all that leads there."""
    input:
        rules.all.input,
        rules.vocabulary_selection.input,
        lambda wildcards: need(
            TRANSLATED,
            "no system is an attention network; take --configfile experiments/multi30k_nmt.yaml "
            "or give a system a 'translate'",
        ),


for name, megabytes in config["memory"].items():
    if not workflow.is_rule(name):
        raise WorkflowError(f"memory.{name}: there is no such rule; `snakemake --list-rules` names all")
    # what --set-resources says of a rule holds
    if "mem_mb" not in workflow.resource_settings.overwrite_resources.get(name, {}):
        workflow.get_rule(name).resources["mem_mb"] = memory(megabytes / 1000)
