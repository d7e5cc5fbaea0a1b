rule build_language_model:
    """Estimate an n-gram model of target text (interpolated modified Kneser-Ney)."""
    input:
        texts=INPUTS.modelled_texts,
        vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{TARGET}.tsv",
    output:
        output=directory("results/{data}/language_model/{model}"),
        arpa="results/{data}/language_model/{model}.arpa.gz",
    log:
        "results/{data}/logs/build_language_model.{model}.log",
    benchmark:
        "results/{data}/benchmarks/language_model/build_language_model.{model}.tsv"
    wildcard_constraints:
        model=one_of(FILES.declared_ngram_models),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime="12h",
    params:
        **step("language_model.steps:build_language_model"),
        settings=INPUTS.ngram_settings,
    script:
        "../workflow_scripts/run_step.py"


rule measure_language_model:
    """Measure how well the language model (of several, that of all text or the first) predicts the development set."""
    input:
        model=INPUTS.dev_model,
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
    """The language models, binary and as ARPA, of all data that systems use."""
    input:
        [f"{model}.arpa.gz" for name in FILES.searched for model in FILES.language_models(name)],
