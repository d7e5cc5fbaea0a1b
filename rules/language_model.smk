rule build_language_model:
    """Estimate the target language model (interpolated modified Kneser-Ney)."""
    input:
        texts=[f"results/{{data}}/selection/{name}.{TARGET}" for name in INPUTS.selection],
        vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{TARGET}.tsv",
    output:
        output=directory("results/{data}/language_model/model"),
        arpa="results/{data}/language_model/model.arpa.gz",
    log:
        "results/{data}/logs/build_language_model.log",
    benchmark:
        "results/{data}/benchmarks/language_model/build_language_model.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime="12h",
    params:
        **step("language_model.steps:build_language_model"),
        settings=config["language_model"],
    script:
        "../workflow_scripts/run_step.py"


rule measure_language_model:
    """Measure how well the language model predicts the development set."""
    input:
        model="results/{data}/language_model/model",
        vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{TARGET}.tsv",
        text=f"results/{EXPERIMENT}/corpus/tokenised/{CORPUS['dev']}.{TARGET}",
    output:
        output="results/{data}/language_model/perplexity.json",
    log:
        "results/{data}/logs/measure_language_model.log",
    benchmark:
        "results/{data}/benchmarks/language_model/measure_language_model.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
    params:
        **step("language_model.steps:measure_language_model"),
    script:
        "../workflow_scripts/run_step.py"


rule language_model:
    """The language model, binary and as ARPA, of all data that systems use."""
    input:
        results_of_all_data("language_model/model.arpa.gz"),
