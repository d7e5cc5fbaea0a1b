# the network whose words coverage is measured for
MEASURED_WORDS = NETWORK_SETTINGS["attention"]["target_words"]


rule build_network_vocabulary:
    """Choose the words of a language that an attention network knows."""
    input:
        text="results/{experiment}/selection/train.{language}",
    output:
        output="results/{experiment}/vocabulary_selection/{words}/network.{language}.tsv",
    log:
        "results/{experiment}/logs/build_network_vocabulary.{words}.{language}.log",
    benchmark:
        "results/{experiment}/benchmarks/vocabulary_selection/build_network_vocabulary.{words}.{language}.tsv"
    wildcard_constraints:
        words=r"\d+",
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
    params:
        **step("vocabulary_selection.steps:build_network_vocabulary"),
        size=lambda wildcards: int(wildcards.words),
    script:
        "../workflow_scripts/run_step.py"


rule build_candidates:
    """Draw the target vocabulary of every sentence of a text, with its reference for the training text only."""
    input:
        **FILES.candidate_tables,
        network_vocabulary=lambda wildcards: FILES.network_vocabulary(wildcards.words, TARGET),
        source=lambda wildcards: FILES.text(wildcards.text, SOURCE),
        reference=lambda wildcards: FILES.text("train", TARGET) if wildcards.text == "train" else [],
    output:
        output=directory("results/{experiment}/vocabulary_selection/{words}/{sets}/{text}"),
    log:
        "results/{experiment}/logs/build_candidates.{words}.{sets}.{text}.log",
    benchmark:
        "results/{experiment}/benchmarks/vocabulary_selection/build_candidates.{words}.{sets}.{text}.tsv"
    wildcard_constraints:
        words=r"\d+",
        sets=one_of(SENTENCE_VOCABULARIES),
        text=one_of(["train", *SETS]),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime="4h",
    params:
        **step("vocabulary_selection.steps:build_candidates"),
        settings=lambda wildcards: SENTENCE_VOCABULARIES[wildcards.sets],
    script:
        "../workflow_scripts/run_step.py"


rule measure_candidates:
    """Coverage of the reference and sizes of target vocabularies (Tables 1 and 2 of Mi et al. 2016)."""
    input:
        **FILES.candidate_tables,
        network_vocabulary=FILES.network_vocabulary(MEASURED_WORDS, TARGET),
        depends=listed_paths(FILES.texts),
    output:
        csv_output="results/{experiment}/vocabulary_selection/coverage.csv",
        markdown_output="results/{experiment}/vocabulary_selection/coverage.md",
    log:
        "results/{experiment}/logs/measure_candidates.log",
    benchmark:
        "results/{experiment}/benchmarks/vocabulary_selection/measure_candidates.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime="8h",
    params:
        **step("vocabulary_selection.coverage_steps:measure_candidates"),
        texts=FILES.texts,
        settings=SENTENCE_VOCABULARIES[DEFAULT_SETS],
        dictionary_sizes=config["vocabulary_selection"]["dictionary_sizes"],
        batch=config["vocabulary_selection"]["batch"],
        measured=config["vocabulary_selection"]["measured"],
        training="train",
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


rule vocabulary_selection:
    """Target vocabularies of the sentences of all texts, what they cover and how large they are."""
    input:
        results(f"vocabulary_selection/{MEASURED_WORDS}/{DEFAULT_SETS}/{{text}}", text=["train", *SETS]),
        results("vocabulary_selection/coverage.csv"),
