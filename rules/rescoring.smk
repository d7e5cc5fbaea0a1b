rule score_phrase_table:
    """Give every phrase pair the network's log probability: one more column of the table."""
    input:
        phrase_table=INPUTS.table,
        model="results/{experiment}/training/{network}/model",
        source_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
    output:
        output=of_shard("results/{experiment}/rescoring/{table}/{network}{scatteritem}.safetensors"),
        statistics=of_shard("results/{experiment}/rescoring/{table}/{network}{scatteritem}.json"),
    log:
        "results/{experiment}/logs/score_phrase_table.{network}.{table}{scatteritem}.log",
    benchmark:
        "results/{experiment}/benchmarks/rescoring/score_phrase_table.{network}.{table}{scatteritem}.tsv"
    wildcard_constraints:
        network=one_of(NETWORKS),
        table="extracted|proposed",
        scatteritem=SHARD,
    conda:
        "../envs/neural_smt.yaml"
    threads: lambda wildcards: FILES.training_threads(wildcards.network)
    resources:
        mem_mb=memory(4),
        runtime="24h",
        gpu=USES_GPU,
    params:
        **step("rescoring.steps:score_phrase_table"),
        settings=config["rescoring"],
        shard=shard_name,
        # not an output: a killed run finds its state there and goes on
        state="results/{experiment}/rescoring/{table}/{network}{scatteritem}.state",
    script:
        "../workflow_scripts/run_step.py"


if SHARDS > 1:

    rule join_columns:
        """Put the scores that shards gave phrase pairs together."""
        input:
            phrase_table=INPUTS.table,
            parts=gather.shards("results/{{experiment}}/rescoring/{{table}}/{{network}}.{scatteritem}.safetensors"),
            part_statistics=gather.shards("results/{{experiment}}/rescoring/{{table}}/{{network}}.{scatteritem}.json"),
        output:
            output="results/{experiment}/rescoring/{table}/{network}.safetensors",
            statistics="results/{experiment}/rescoring/{table}/{network}.json",
        log:
            "results/{experiment}/logs/join_columns.{network}.{table}.log",
        benchmark:
            "results/{experiment}/benchmarks/rescoring/join_columns.{network}.{table}.tsv"
        wildcard_constraints:
            network=one_of(NETWORKS),
            table="extracted|proposed",
        conda:
            "../envs/neural_smt.yaml"
        resources:
            mem_mb=memory(2),
        params:
            **step("rescoring.column_steps:join_columns"),
        script:
            "../workflow_scripts/run_step.py"


rule count_unknown_words:
    """Count the target words of every phrase pair that the networks do not know: the paper's word penalty."""
    input:
        phrase_table=INPUTS.table,
        source_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
        target_shortlist=f"results/{{experiment}}/shortlist/shortlist.{TARGET}.tsv",
    output:
        output="results/{experiment}/rescoring/{table}/unknown_penalty.safetensors",
    log:
        "results/{experiment}/logs/count_unknown_words.{table}.log",
    benchmark:
        "results/{experiment}/benchmarks/rescoring/count_unknown_words.{table}.tsv"
    wildcard_constraints:
        table="extracted|proposed",
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
    params:
        **step("rescoring.column_steps:count_unknown_words"),
    script:
        "../workflow_scripts/run_step.py"


rule propose_phrases:
    """Build the phrase table of the dev and test sets with target phrases that the encoder-decoder proposes."""
    input:
        phrase_table="results/{experiment}/phrases/table",
        model="results/{experiment}/training/encoder_decoder/model",
        lexical="results/{experiment}/alignment/lexical",
        source_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
        texts=tokenised(SETS, SOURCE),
    output:
        output=directory("results/{experiment}/rescoring/proposed/table"),
        statistics="results/{experiment}/rescoring/proposed/statistics.json",
    log:
        "results/{experiment}/logs/propose_phrases.log",
    benchmark:
        "results/{experiment}/benchmarks/rescoring/propose_phrases.tsv"
    conda:
        "../envs/neural_smt.yaml"
    threads: 2
    resources:
        mem_mb=memory(8),
        runtime="24h",
        gpu=USES_GPU,
    params:
        **step("rescoring.steps:propose_phrases"),
        settings=config["proposals"],
    script:
        "../workflow_scripts/run_step.py"


rule rescoring:
    """Phrase-table columns of every network."""
    input:
        results("rescoring/extracted/{network}.safetensors", network=NETWORKS),
