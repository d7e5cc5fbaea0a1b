rule align:
    """Align words in one direction; gold sets are aligned along with the training text."""
    input:
        sources=[
            f"results/{{data}}/selection/train.{SOURCE}",
            *results("corpus/tokenised/{gold}.{language}", gold=CORPUS["gold"], language=SOURCE),
        ],
        targets=[
            f"results/{{data}}/selection/train.{TARGET}",
            *results("corpus/tokenised/{gold}.{language}", gold=CORPUS["gold"], language=TARGET),
        ],
    output:
        output="results/{data}/alignment/{direction}.align",
        gold_output="results/{data}/alignment/gold.{direction}.align",
    log:
        "results/{data}/logs/align.{direction}.log",
    benchmark:
        "results/{data}/benchmarks/alignment/align.{direction}.tsv"
    wildcard_constraints:
        direction="forward|backward",
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(6),
        runtime="24h",
    params:
        **step("alignment.steps:align"),
        settings=config["alignment"],
        backward=lambda wildcards: wildcards.direction == "backward",
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


# where fast_align aligns all text, it makes the forward alignment of the selected text
ruleorder: fast_align > align


use rule align as fast_align with:
    """Align forwards with fast_align, and keep the word translation table that it ends with (for V^D)."""
    input:
        sources=rules.align.input.sources,
        targets=rules.align.input.targets,
        source_vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{TARGET}.tsv",
    output:
        output=f"results/{{data}}/alignment/{FAST_ALIGN}.align",
        gold_output=f"results/{{data}}/alignment/gold.{FAST_ALIGN}.align",
        table=directory("results/{data}/alignment/translations"),
    log:
        f"results/{{data}}/logs/align.{FAST_ALIGN}.log",
    benchmark:
        f"results/{{data}}/benchmarks/alignment/align.{FAST_ALIGN}.tsv"
    wildcard_constraints:
        data=EXPERIMENT,
    resources:
        mem_mb=memory(8),
        runtime="24h",
    params:
        settings=config["alignment"] | {"aligner": "fast_align"},
        backward=False,


rule symmetrise:
    """Combine both directions into one alignment."""
    input:
        forward="results/{data}/alignment/forward.align",
        backward="results/{data}/alignment/backward.align",
    output:
        output="results/{data}/alignment/symmetrised.align",
    log:
        "results/{data}/logs/symmetrise.log",
    benchmark:
        "results/{data}/benchmarks/alignment/symmetrise.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
    params:
        **step("alignment.steps:symmetrise"),
        heuristic=config["alignment"]["heuristic"],
    script:
        "../workflow_scripts/run_step.py"


rule align_sets:
    """Align the development and test sets along with the training text, for models that read alignments of theirs."""
    input:
        sources=[f"results/{{experiment}}/selection/train.{SOURCE}", *tokenised(SETS, SOURCE)],
        targets=[f"results/{{experiment}}/selection/train.{TARGET}", *tokenised(SETS, TARGET)],
    output:
        outputs=expand("results/{{experiment}}/alignment/sets/{set}.align", set=SETS),
    log:
        "results/{experiment}/logs/align_sets.log",
    benchmark:
        "results/{experiment}/benchmarks/alignment/align_sets.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(6),
        runtime="24h",
    params:
        **step("alignment.steps:align_sets"),
        settings=config["alignment"],
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


rule build_lexical_tables:
    """Estimate word translation probabilities in both directions."""
    input:
        source=f"results/{{data}}/selection/train.{SOURCE}",
        target=f"results/{{data}}/selection/train.{TARGET}",
        alignment="results/{data}/alignment/symmetrised.align",
        source_vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{EXPERIMENT}/corpus/vocabulary.{TARGET}.tsv",
    output:
        output=directory("results/{data}/alignment/lexical"),
    log:
        "results/{data}/logs/build_lexical_tables.log",
    benchmark:
        "results/{data}/benchmarks/alignment/build_lexical_tables.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(6),
        runtime="2h",
    params:
        **step("alignment.steps:build_lexical_tables"),
    script:
        "../workflow_scripts/run_step.py"


rule measure_error_rate:
    """Alignment error rate of both directions and every heuristic against gold (Och and Ney 2003)."""
    input:
        forward="results/{experiment}/alignment/gold.forward.align",
        backward="results/{experiment}/alignment/gold.backward.align",
        gold=INPUTS.gold(),
        sources=FILES.aligned_text(SOURCE),
        targets=FILES.aligned_text(TARGET),
    output:
        table="results/{experiment}/alignment/error_rate.csv",
    log:
        "results/{experiment}/logs/measure_error_rate.log",
    benchmark:
        "results/{experiment}/benchmarks/alignment/measure_error_rate.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
    params:
        **step("alignment.error_rate_steps:measure_error_rate"),
        names=CORPUS["gold"],
        turned=INPUTS.gold(turned=True),
    script:
        "../workflow_scripts/run_step.py"


rule alignment:
    """Word alignment, lexical tables and, where there is gold, error rates."""
    input:
        results_of_all_data("alignment/lexical"),
        results("alignment/error_rate.csv") if CORPUS["gold"] else [],
