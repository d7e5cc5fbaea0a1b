rule build_phrase_table:
    """Extract and score phrase pairs and their orientations."""
    input:
        source=f"results/{{data}}/selection/train.{SOURCE}",
        target=f"results/{{data}}/selection/train.{TARGET}",
        alignment="results/{data}/alignment/symmetrised.align",
        lexical="results/{data}/alignment/lexical",
        source_vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{TARGET}.tsv",
    output:
        output=directory("results/{data}/phrases/table"),
    log:
        "results/{data}/logs/build_phrase_table.log",
    benchmark:
        "results/{data}/benchmarks/phrases/build_phrase_table.tsv"
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
    """The phrase table with reordering probabilities, of all data that systems use."""
    input:
        results_of_all_data("phrases/table"),
