rule align:
    """Align words in one direction; gold sets are aligned along with the training text."""
    input:
        sources=[f"results/{{experiment}}/selection/train.{SOURCE}", *tokenised(CORPUS["gold"], SOURCE)],
        targets=[f"results/{{experiment}}/selection/train.{TARGET}", *tokenised(CORPUS["gold"], TARGET)],
    output:
        output="results/{experiment}/alignment/{direction}.align",
        gold_output="results/{experiment}/alignment/gold.{direction}.align",
    log:
        "results/{experiment}/logs/align.{direction}.log",
    benchmark:
        "results/{experiment}/benchmarks/alignment/align.{direction}.tsv"
    wildcard_constraints:
        direction="forward|backward",
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(6),
        runtime="24h",
    params:
        code=code("alignment.steps"),
        settings=config["alignment"],
        backward=lambda wildcards: wildcards.direction == "backward",
        seed=config["seed"],
    script:
        "../workflow_scripts/alignment.py"


rule symmetrise:
    """Combine both directions into one alignment."""
    input:
        forward="results/{experiment}/alignment/forward.align",
        backward="results/{experiment}/alignment/backward.align",
    output:
        output="results/{experiment}/alignment/symmetrised.align",
    log:
        "results/{experiment}/logs/symmetrise.log",
    benchmark:
        "results/{experiment}/benchmarks/alignment/symmetrise.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="1h",
    params:
        code=code("alignment.steps"),
        heuristic=config["alignment"]["heuristic"],
    script:
        "../workflow_scripts/alignment.py"


rule build_lexical_tables:
    """Estimate word translation probabilities in both directions."""
    input:
        source=f"results/{{experiment}}/selection/train.{SOURCE}",
        target=f"results/{{experiment}}/selection/train.{TARGET}",
        alignment="results/{experiment}/alignment/symmetrised.align",
        source_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
    output:
        output=directory("results/{experiment}/alignment/lexical"),
    log:
        "results/{experiment}/logs/build_lexical_tables.log",
    benchmark:
        "results/{experiment}/benchmarks/alignment/build_lexical_tables.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(6),
        runtime="2h",
    params:
        code=code("alignment.steps"),
    script:
        "../workflow_scripts/alignment.py"


rule measure_error_rate:
    """Alignment error rate of both directions and every heuristic against gold (Och and Ney 2003)."""
    input:
        forward="results/{experiment}/alignment/gold.forward.align",
        backward="results/{experiment}/alignment/gold.backward.align",
        gold=[raw_text(name, "alignment") for name in CORPUS["gold"]],
    output:
        table=report(
            "results/{experiment}/alignment/error_rate.csv",
            caption="report/alignment.rst",
            category="Alignment",
            labels={"what": "error rate"},
        ),
    log:
        "results/{experiment}/logs/measure_error_rate.log",
    benchmark:
        "results/{experiment}/benchmarks/alignment/measure_error_rate.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
        runtime="1h",
    params:
        code=code("alignment.steps"),
        names=CORPUS["gold"],
    script:
        "../workflow_scripts/alignment.py"


rule alignment:
    """Word alignment, lexical tables and, where there is gold, error rates."""
    input:
        results("alignment/lexical"),
        results("alignment/error_rate.csv") if CORPUS["gold"] else [],
