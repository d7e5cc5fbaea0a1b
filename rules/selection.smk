rule train_selection_models:
    """Train the models of the in-domain text and of the pool that shards of the pool are scored with."""
    input:
        pool=INPUTS.pool,
        in_domain=INPUTS.pool_in_domain,
    output:
        output=temp(directory("results/{experiment}/selection/models/{text}")),
    log:
        "results/{experiment}/logs/train_selection_models.{text}.log",
    benchmark:
        "results/{experiment}/benchmarks/selection/train_selection_models.{text}.tsv"
    wildcard_constraints:
        text=one_of(SHARDED_POOLS),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="4h",
    params:
        **step("selection.steps:train_selection_models"),
        settings=lambda wildcards: INPUTS.selection[wildcards.text],
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


rule score_pool:
    """Score a shard of the pool by how much more its lines resemble the in-domain text."""
    input:
        pool=INPUTS.pool,
        models="results/{experiment}/selection/models/{text}",
    output:
        output=temp("results/{experiment}/selection/shards/{text}.{scatteritem}.safetensors"),
    log:
        "results/{experiment}/logs/score_pool/{text}.{scatteritem}.log",
    benchmark:
        "results/{experiment}/benchmarks/selection/score_pool/{text}.{scatteritem}.tsv"
    wildcard_constraints:
        text=one_of(SHARDED_POOLS),
    conda:
        "../envs/neural_smt.yaml"
    # for each side one
    threads: lambda wildcards: len(INPUTS.pool(wildcards))
    resources:
        runtime="4h",
    params:
        **step("selection.steps:score_pool"),
        shard="{scatteritem}",
    script:
        "../workflow_scripts/run_step.py"


rule select_pairs:
    """Keep the pool's pairs that resemble the in-domain text most (Axelrod et al. 2011)."""
    input:
        pool=[f"results/{{experiment}}/corpus/train.{side}" for side in (SOURCE, TARGET)],
        in_domain=INPUTS.in_domain(SOURCE, TARGET),
        compared=INPUTS.compared(SOURCE, TARGET),
        dev=tokenised(CORPUS["dev"], SOURCE) + tokenised(CORPUS["dev"], TARGET),
        scored=scores_of_shards("train"),
    output:
        output=[f"results/{{experiment}}/selection/train.{side}" for side in (SOURCE, TARGET)],
        scores="results/{experiment}/selection/train.scores.tsv.gz",
        curve="results/{experiment}/selection/train.curve.csv",
        plot="results/{experiment}/selection/train.curve.png",
    log:
        "results/{experiment}/logs/select_pairs.log",
    benchmark:
        "results/{experiment}/benchmarks/selection/select_pairs.tsv"
    conda:
        "../envs/neural_smt.yaml"
    threads: 2
    resources:
        mem_mb=memory(8),
        runtime="8h",
    params:
        **step("selection.steps:select"),
        settings=INPUTS.selection["train"],
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


use rule select_pairs as select_text with:
    """Keep the extra text that resembles the in-domain text most (Moore and Lewis 2010)."""
    input:
        pool=f"results/{{experiment}}/corpus/monolingual.{TARGET}",
        in_domain=INPUTS.in_domain(TARGET),
        compared=INPUTS.compared(TARGET),
        dev=tokenised(CORPUS["dev"], TARGET),
        scored=scores_of_shards("monolingual"),
    output:
        output=f"results/{{experiment}}/selection/monolingual.{TARGET}",
        scores="results/{experiment}/selection/monolingual.scores.tsv.gz",
        curve="results/{experiment}/selection/monolingual.curve.csv",
        plot="results/{experiment}/selection/monolingual.curve.png",
    log:
        "results/{experiment}/logs/select_text.log",
    benchmark:
        "results/{experiment}/benchmarks/selection/select_text.tsv"
    threads: 1
    params:
        settings=INPUTS.selection.get("monolingual"),


rule take_pairs:
    """Take all pairs of the pool, or some at random (as many as selection keeps): what selected ones are compared with."""
    input:
        pool=[f"results/{{experiment}}/corpus/train.{side}" for side in (SOURCE, TARGET)],
        in_domain=INPUTS.in_domain(SOURCE, TARGET),
        scores=lambda wildcards: INPUTS.scores(wildcards, "train"),
    output:
        output=[f"results/{{experiment}}/data/{{variant}}/selection/train.{side}" for side in (SOURCE, TARGET)],
    log:
        "results/{experiment}/data/{variant}/logs/take_pairs.log",
    benchmark:
        "results/{experiment}/data/{variant}/benchmarks/selection/take_pairs.tsv"
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("selection.steps:take"),
        pairs=lambda wildcards: drawn_pairs(wildcards.variant),
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


rule take_text:
    """Take all extra text, or as many lines at random as selection keeps."""
    input:
        pool=f"results/{{experiment}}/corpus/monolingual.{TARGET}",
        in_domain=[],
        scores=lambda wildcards: INPUTS.scores(wildcards, "monolingual"),
    output:
        output=f"results/{{experiment}}/data/{{variant}}/selection/monolingual.{TARGET}",
    log:
        "results/{experiment}/data/{variant}/logs/take_text.log",
    benchmark:
        "results/{experiment}/data/{variant}/benchmarks/selection/take_text.tsv"
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("selection.steps:take"),
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


rule selection:
    """The training text of every later stage, of all data that systems use."""
    input:
        results_of_all_data("selection/train.{language}", language=[SOURCE, TARGET]),
        results_of_all_data("selection/monolingual.{language}", language=TARGET) if CORPUS["monolingual"] else [],
