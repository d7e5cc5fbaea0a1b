rule fetch:
    """Fetch one side of a source, from the mirror first; its checksum is verified."""
    output:
        output="results/{experiment}/corpus/raw/{source}.{side}.gz",
    log:
        "results/{experiment}/logs/fetch/{source}.{side}.log",
    benchmark:
        "results/{experiment}/benchmarks/corpus/fetch/{source}.{side}.tsv"
    wildcard_constraints:
        side=f"{SOURCE}|{TARGET}|alignment",
    # a download is tried again by the step; what it ends with would be the same another time
    retries: 0
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    resources:
        runtime="2h",
    params:
        # no digest of code: a change of it is no reason to fetch again
        step="corpus.steps:fetch",
        side=lambda wildcards: CORPUS["sources"][wildcards.source][wildcards.side],
    script:
        "../workflow_scripts/run_step.py"


use rule fetch as fetch_archive with:
    """Fetch an archive once for all sides that are its members; as `fetch`."""
    output:
        output="results/{experiment}/corpus/archives/{archive}",
    log:
        "results/{experiment}/logs/fetch_archive/{archive}.log",
    benchmark:
        "results/{experiment}/benchmarks/corpus/fetch_archive/{archive}.tsv"
    wildcard_constraints:
        archive=one_of(map(re.escape, ARCHIVES)),
    localrule: True
    resources:
        runtime="12h",
    params:
        step="corpus.steps:fetch_archive",
        side=lambda wildcards: ARCHIVES[wildcards.archive],


rule extract_member:
    """Take one side of a source out of its archive."""
    input:
        archive=INPUTS.archive,
    output:
        output="results/{experiment}/corpus/extracted/{source}.{side}.gz",
    log:
        "results/{experiment}/logs/extract_member/{source}.{side}.log",
    benchmark:
        "results/{experiment}/benchmarks/corpus/extract_member/{source}.{side}.tsv"
    wildcard_constraints:
        side=f"{SOURCE}|{TARGET}|alignment",
    conda:
        "../envs/neural_smt.yaml"
    resources:
        runtime="4h",
    params:
        **step("corpus.steps:extract_member"),
        member=lambda wildcards: CORPUS["sources"][wildcards.source][wildcards.side]["member"],
        unescape=lambda wildcards: CORPUS["sources"][wildcards.source][wildcards.side].get("unescape", False),
    script:
        "../workflow_scripts/run_step.py"


rule join_texts:
    """Put one side of several sources together, as one source."""
    input:
        texts=lambda wildcards: [
            INPUTS.raw_text(part, wildcards.side) for part in CORPUS["sources"][wildcards.source]["join"]
        ],
    output:
        output="results/{experiment}/corpus/joined/{source}.{side}.gz",
    log:
        "results/{experiment}/logs/join_texts/{source}.{side}.log",
    benchmark:
        "results/{experiment}/benchmarks/corpus/join_texts/{source}.{side}.tsv"
    wildcard_constraints:
        side=f"{SOURCE}|{TARGET}",
    conda:
        "../envs/neural_smt.yaml"
    resources:
        runtime="4h",
    params:
        **step("corpus.steps:join_texts"),
    script:
        "../workflow_scripts/run_step.py"


rule generate:
    """Write the synthetic corpus of the embedded experiment, with its gold alignment."""
    output:
        expand(
            "results/{{experiment}}/corpus/generated/{part}.{suffix}",
            part=["train", "in_domain", "dev", "test", "gold", "monolingual"],
            suffix=[f"{SOURCE}.gz", f"{TARGET}.gz", "align"],
        ),
    log:
        "results/{experiment}/logs/generate.log",
    benchmark:
        "results/{experiment}/benchmarks/corpus/generate.tsv"
    conda:
        "../envs/neural_smt.yaml"
    threads: 2
    resources:
        mem_mb=memory(2),
    params:
        **step("corpus.steps:generate"),
        settings=CORPUS["generator"],
        seed=config["seed"],
        output=lambda wildcards, output: os.path.dirname(output[0]),
    script:
        "../workflow_scripts/run_step.py"


rule check_experiment:
    """Look at all texts once they are fetched, at the disk and at the GPU, before anything works on them for hours."""
    input:
        depends=[path for sides in FETCHED_TEXTS.values() for path in sides.values()],
    output:
        output="results/{experiment}/corpus/checked.json",
    log:
        "results/{experiment}/logs/check_experiment.log",
    benchmark:
        "results/{experiment}/benchmarks/corpus/check_experiment.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        gpu=USES_GPU,
    params:
        **step("planning.checking:check_experiment"),
        texts=FETCHED_TEXTS,
        snakefile=f"{workflow.basedir}/Snakefile",
        throughputs=f"{workflow.basedir}/benchmarks/throughputs.json",
        declared=[config["check"], config["training"] if USES_GPU else None],
    script:
        "../workflow_scripts/run_step.py"


rule tokenise:
    """Normalise and tokenise one side of a source (NFC, sacremoses), or a shard of it."""
    input:
        # an older one will do: the tokenised text does not depend on it; generated text needs no check
        depends=ancient("results/{experiment}/corpus/checked.json") if FETCHED_TEXTS else [],
        text=lambda wildcards: INPUTS.raw_text(wildcards.source, wildcards.language),
    output:
        output="results/{experiment}/corpus/tokenised/{source}.{language}{scatteritem}",
    log:
        "results/{experiment}/logs/tokenise/{source}.{language}{scatteritem}.log",
    benchmark:
        "results/{experiment}/benchmarks/corpus/tokenise/{source}.{language}{scatteritem}.tsv"
    wildcard_constraints:
        scatteritem=r"(\.\d+-of-\d+)?",
    conda:
        "../envs/neural_smt.yaml"
    resources:
        runtime=shard_time(2),
        turn=1,
    params:
        **step("corpus.steps:tokenise"),
        language="{language}",
        shard=shard_name,
        tokenised=lambda wildcards: CORPUS["sources"][wildcards.source]["tokenised"],
    script:
        "../workflow_scripts/run_step.py"


rule clean_pairs:
    """Join the sources of a training set and drop empty, overlong and lopsided pairs."""
    input:
        sources=lambda wildcards: training_text(CORPUS[wildcards.role], SOURCE),
        targets=lambda wildcards: training_text(CORPUS[wildcards.role], TARGET),
    output:
        source_output=f"results/{{experiment}}/corpus/{{role}}.{SOURCE}",
        target_output=f"results/{{experiment}}/corpus/{{role}}.{TARGET}",
        table="results/{experiment}/corpus/cleaning.{role}.csv",
    log:
        "results/{experiment}/logs/clean_pairs.{role}.log",
    benchmark:
        "results/{experiment}/benchmarks/corpus/clean_pairs.{role}.tsv"
    wildcard_constraints:
        role="train|in_domain",
    conda:
        "../envs/neural_smt.yaml"
    resources:
        runtime="2h",
    params:
        **step("corpus.steps:clean"),
        names=lambda wildcards: CORPUS[wildcards.role],
        settings=CORPUS["cleaning"],
    script:
        "../workflow_scripts/run_step.py"


use rule clean_pairs as clean_text with:
    """Join the extra target-language text and drop empty and overlong lines."""
    input:
        sources=training_text(CORPUS["monolingual"], TARGET),
    output:
        source_output=f"results/{{experiment}}/corpus/monolingual.{TARGET}",
        table="results/{experiment}/corpus/cleaning.monolingual.csv",
    log:
        "results/{experiment}/logs/clean_text.log",
    benchmark:
        "results/{experiment}/benchmarks/corpus/clean_text.tsv"
    params:
        names=CORPUS["monolingual"],


rule build_vocabulary:
    """Count the words of one language over all training text; the ids every later stage uses."""
    input:
        texts=INPUTS.vocabulary_texts,
    output:
        output="results/{experiment}/corpus/vocabulary.{language}.tsv",
    log:
        "results/{experiment}/logs/build_vocabulary.{language}.log",
    benchmark:
        "results/{experiment}/benchmarks/corpus/build_vocabulary.{language}.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
    params:
        **step("corpus.steps:build_vocabulary"),
    script:
        "../workflow_scripts/run_step.py"


rule corpus:
    """All text fetched or generated, tokenised and cleaned; vocabularies."""
    input:
        results("corpus/vocabulary.{language}.tsv", language=[SOURCE, TARGET]),
        results("corpus/tokenised/{set}.{language}", set=SETS, language=[SOURCE, TARGET]),
