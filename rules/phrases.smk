# where shards and partitions of the phrase pairs lie while a table is made of them
PHRASE_SHARDS = "results/{data}/phrases/shards"
ALL_PHRASE_SHARDS = "results/{{data}}/phrases/shards"


rule extract_phrases:
    """Extract the phrase pairs of a shard of the sentences, cut into partitions by source phrase."""
    input:
        source=f"results/{{data}}/selection/train.{SOURCE}",
        target=f"results/{{data}}/selection/train.{TARGET}",
        alignment="results/{data}/alignment/symmetrised.align",
        source_vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{TARGET}.tsv",
    output:
        output=temp(directory(f"{PHRASE_SHARDS}/extracted/{{scatteritem}}")),
    log:
        "results/{data}/logs/extract_phrases.{scatteritem}.log",
    benchmark:
        "results/{data}/benchmarks/phrases/extract_phrases.{scatteritem}.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(12),
        runtime="2h",
    params:
        **step("phrases.steps:extract_phrases"),
        shard="{scatteritem}",
        max_length=config["phrases"]["max_length"],
    script:
        "../workflow_scripts/run_step.py"


use rule extract_phrases as consolidate_phrases with:
    """Consolidate the phrase pairs of a partition, from all shards."""
    input:
        extracted=gather.shards(f"{ALL_PHRASE_SHARDS}/extracted/{{scatteritem}}"),
    output:
        output=temp(directory(f"{PHRASE_SHARDS}/consolidated/{{scatteritem}}")),
    log:
        "results/{data}/logs/consolidate_phrases.{scatteritem}.log",
    benchmark:
        "results/{data}/benchmarks/phrases/consolidate_phrases.{scatteritem}.tsv"
    params:
        **step("phrases.steps:consolidate_phrases"),


rule count_targets:
    """Sum up what target phrases count in all partitions, of one partition of them."""
    input:
        consolidated=gather.shards(f"{ALL_PHRASE_SHARDS}/consolidated/{{scatteritem}}"),
    output:
        output=temp(directory(f"{PHRASE_SHARDS}/totals/{{scatteritem}}")),
    log:
        "results/{data}/logs/count_targets.{scatteritem}.log",
    benchmark:
        "results/{data}/benchmarks/phrases/count_targets.{scatteritem}.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(12),
        runtime="2h",
    params:
        **step("phrases.steps:count_targets"),
        shard="{scatteritem}",
    script:
        "../workflow_scripts/run_step.py"


use rule count_targets as score_phrases with:
    """Score the phrase pairs of a partition and their orientations."""
    input:
        partition=f"{PHRASE_SHARDS}/consolidated/{{scatteritem}}",
        totals=gather.shards(f"{ALL_PHRASE_SHARDS}/totals/{{scatteritem}}"),
        lexical="results/{data}/alignment/lexical",
    output:
        output=temp(directory(f"{PHRASE_SHARDS}/scored/{{scatteritem}}")),
    log:
        "results/{data}/logs/score_phrases.{scatteritem}.log",
    benchmark:
        "results/{data}/benchmarks/phrases/score_phrases.{scatteritem}.tsv"
    params:
        **step("phrases.steps:score_phrases"),
        smoothing=config["phrases"]["reordering_smoothing"],


rule build_phrase_table:
    """Extract and score phrase pairs and their orientations; with several shards, merge what these have scored."""
    input:
        source=f"results/{{data}}/selection/train.{SOURCE}",
        target=f"results/{{data}}/selection/train.{TARGET}",
        alignment="results/{data}/alignment/symmetrised.align",
        lexical="results/{data}/alignment/lexical",
        source_vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{TARGET}.tsv",
        parts=gather.shards(f"{ALL_PHRASE_SHARDS}/scored/{{scatteritem}}") if SHARDS > 1 else [],
    output:
        output=directory("results/{data}/phrases/table"),
    log:
        "results/{data}/logs/build_phrase_table.log",
    benchmark:
        "results/{data}/benchmarks/phrases/build_phrase_table.tsv"
    conda:
        "../envs/neural_smt.yaml"
    # more would wait for other cores, for hours where networks train on them: on two cores, until all have trained
    threads: 1
    resources:
        mem_mb=memory(12),
        runtime="12h",
    params:
        **step("phrases.steps:build_phrase_table"),
        max_length=config["phrases"]["max_length"],
        smoothing=config["phrases"]["reordering_smoothing"],
    script:
        "../workflow_scripts/run_step.py"


rule phrases:
    """The phrase table with reordering probabilities, of all data that systems use."""
    input:
        results_of_all_data("phrases/table"),
