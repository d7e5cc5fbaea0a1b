rule build_language_model:
    """Estimate the target language model (interpolated modified Kneser-Ney)."""
    input:
        texts=language_model_texts(),
        vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
    output:
        output=directory("results/{experiment}/language_model/model"),
        arpa="results/{experiment}/language_model/model.arpa.gz",
    log:
        "results/{experiment}/logs/build_language_model.log",
    benchmark:
        "results/{experiment}/benchmarks/language_model/build_language_model.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime="12h",
    params:
        code=code("language_model.steps"),
        settings=config["language_model"],
    script:
        "../workflow_scripts/language_model.py"


rule language_model:
    """The language model, binary and as ARPA."""
    input:
        results("language_model/model.arpa.gz"),
