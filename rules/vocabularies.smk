CANDIDATE_TABLES = {
    "source_vocabulary": f"results/{{experiment}}/corpus/vocabulary.{SOURCE}.tsv",
    "target_vocabulary": f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
    "network_vocabulary": f"results/{{experiment}}/vocabularies/network.{TARGET}.tsv",
    "lexical": "results/{experiment}/alignment/lexical",
    "phrase_table": "results/{experiment}/phrases/table",
}
CANDIDATE_SETTINGS = {
    name: config["vocabularies"][name] for name in ("dictionary", "phrases", "frequent", "max_length")
}


rule build_network_vocabulary:
    """Choose the target words that an attention network knows."""
    input:
        text=f"results/{{experiment}}/selection/train.{TARGET}",
    output:
        output=f"results/{{experiment}}/vocabularies/network.{TARGET}.tsv",
    log:
        "results/{experiment}/logs/build_network_vocabulary.log",
    benchmark:
        "results/{experiment}/benchmarks/vocabularies/build_network_vocabulary.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
        runtime="1h",
    params:
        code=code("vocabularies.steps"),
        size=config["vocabularies"]["size"],
    script:
        "../workflow_scripts/vocabularies.py"


rule build_candidates:
    """Draw the target vocabulary of every sentence of a text, with its reference for the training text only."""
    input:
        **CANDIDATE_TABLES,
        source=lambda wildcards: candidate_text(wildcards.text, SOURCE),
        reference=lambda wildcards: candidate_text("train", TARGET) if wildcards.text == "train" else [],
    output:
        output=directory("results/{experiment}/vocabularies/candidates/{text}"),
    log:
        "results/{experiment}/logs/build_candidates.{text}.log",
    benchmark:
        "results/{experiment}/benchmarks/vocabularies/build_candidates.{text}.tsv"
    wildcard_constraints:
        text=one_of(["train", *SETS]),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime="4h",
    params:
        code=code("vocabularies.steps"),
        settings=CANDIDATE_SETTINGS,
    script:
        "../workflow_scripts/vocabularies.py"


rule build_partitions:
    """Cut the training text, in its order, into parts with a target vocabulary each (Jean et al. 2015)."""
    input:
        target=f"results/{{experiment}}/selection/train.{TARGET}",
        network_vocabulary=CANDIDATE_TABLES["network_vocabulary"],
    output:
        output=directory("results/{experiment}/vocabularies/partitions"),
    log:
        "results/{experiment}/logs/build_partitions.log",
    benchmark:
        "results/{experiment}/benchmarks/vocabularies/build_partitions.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="2h",
    params:
        code=code("vocabularies.steps"),
        tau=config["vocabularies"]["tau"],
        batch=config["vocabularies"]["batch"],
    script:
        "../workflow_scripts/vocabularies.py"


rule measure_candidates:
    """Coverage of the reference and sizes of target vocabularies (Tables 1 and 2 of Mi et al. 2016)."""
    input:
        **CANDIDATE_TABLES,
        depends=[candidate_text(text, side) for text in ("train", *SETS) for side in (SOURCE, TARGET)],
    output:
        csv_output="results/{experiment}/vocabularies/coverage.csv",
        markdown_output=report(
            "results/{experiment}/vocabularies/coverage.md",
            caption="report/vocabularies.rst",
            category="Corpus",
            labels={"set": "all", "what": "target vocabularies"},
        ),
    log:
        "results/{experiment}/logs/measure_candidates.log",
    benchmark:
        "results/{experiment}/benchmarks/vocabularies/measure_candidates.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime="8h",
    params:
        code=code("vocabularies.steps"),
        texts={text: [candidate_text(text, side) for side in (SOURCE, TARGET)] for text in ("train", *SETS)},
        settings=CANDIDATE_SETTINGS,
        tops=config["vocabularies"]["tops"],
        batch=config["vocabularies"]["batch"],
        training="train",
        seed=config["seed"],
    script:
        "../workflow_scripts/vocabularies.py"


rule vocabularies:
    """Target vocabularies of the sentences of all texts, what they cover and how large they are."""
    input:
        results("vocabularies/candidates/{text}", text=["train", *SETS]),
        results("vocabularies/coverage.csv"),
