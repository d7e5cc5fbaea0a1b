rule build_phrase_table:
    """Extract and score phrase pairs and their orientations."""
    input:
        source=f"results/{{experiment}}/selection/train.{SOURCE}",
        target=f"results/{{experiment}}/selection/train.{TARGET}",
        alignment="results/{experiment}/alignment/symmetrised.align",
        lexical="results/{experiment}/alignment/lexical",
        source_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
    output:
        output=directory("results/{experiment}/phrases/table"),
    log:
        "results/{experiment}/logs/build_phrase_table.log",
    benchmark:
        "results/{experiment}/benchmarks/phrases/build_phrase_table.tsv"
    conda:
        "../envs/neural_smt.yaml"
    threads: 2
    resources:
        mem_mb=memory(12),
        runtime="12h",
    params:
        code=code("phrases.steps"),
        settings=config["phrases"],
    script:
        "../workflow_scripts/phrases.py"


rule phrases:
    """The phrase table with reordering probabilities."""
    input:
        results("phrases/table"),
