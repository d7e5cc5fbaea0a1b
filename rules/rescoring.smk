rule score_phrase_table:
    """Give every phrase pair the network's log probability: one more column of the table."""
    input:
        phrase_table="results/{experiment}/phrases/table",
        model="results/{experiment}/training/{network}/model",
        source_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
    output:
        output="results/{experiment}/rescoring/{network}.npy",
        statistics="results/{experiment}/rescoring/{network}.json",
    log:
        "results/{experiment}/logs/score_phrase_table.{network}.log",
    benchmark:
        "results/{experiment}/benchmarks/rescoring/score_phrase_table.{network}.tsv"
    wildcard_constraints:
        network="|".join(NETWORKS),
    conda:
        "../envs/neural_smt.yaml"
    threads: 2
    resources:
        mem_mb=memory(8),
        runtime="24h",
        gpu=USES_GPU,
    params:
        code=code("rescoring.steps"),
        settings=config["rescoring"],
    script:
        "../workflow_scripts/rescoring.py"


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
        column="results/{experiment}/rescoring/proposed/encoder_decoder.npy",
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
        code=code("rescoring.steps"),
        settings=config["proposals"],
    script:
        "../workflow_scripts/rescoring.py"


rule rescoring:
    """Phrase-table columns of every network."""
    input:
        results("rescoring/{network}.npy", network=NETWORKS),
