rule tune:
    """Tune a system's weights on the development set with MERT or MIRA."""
    input:
        unpack(INPUTS.tuned_system),
        source=tokenised(CORPUS["dev"], SOURCE)[0],
        reference=tokenised(CORPUS["dev"], TARGET)[0],
    output:
        weights="results/{experiment}/tuning/{system}/run{run}/weights.json",
        history="results/{experiment}/tuning/{system}/run{run}/history.csv",
        plot="results/{experiment}/tuning/{system}/run{run}/history.png",
    log:
        "results/{experiment}/logs/tune/{system}.run{run}.log",
    benchmark:
        "results/{experiment}/benchmarks/tuning/tune/{system}.run{run}.tsv"
    wildcard_constraints:
        system=one_of(SEARCHED),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="24h",
        gpu=INPUTS.gpus,
    params:
        **step("tuning.steps:tune", INPUTS.scorers),
        decoding=config["decoding"]["tuning"],
        settings=INPUTS.tuning_settings,
        seed=INPUTS.seed,
        # not an output: a killed run goes on at its last iteration
        state=lambda wildcards: f"results/{wildcards.experiment}/tuning/{wildcards.system}/run{wildcards.run}/state",
    script:
        "../workflow_scripts/run_step.py"


rule tune_reranking:
    """Tune the weights of a system that chooses among candidates of its base, on those of the development set."""
    input:
        unpack(INPUTS.tuning_candidates),
        reference=tokenised(CORPUS["dev"], TARGET)[0],
        start=INPUTS.base_weights,
    output:
        weights="results/{experiment}/tuning/{system}/run{run}/weights.json",
        history="results/{experiment}/tuning/{system}/run{run}/history.csv",
        plot="results/{experiment}/tuning/{system}/run{run}/history.png",
    log:
        "results/{experiment}/logs/tune/{system}.run{run}.log",
    benchmark:
        "results/{experiment}/benchmarks/tuning/tune/{system}.run{run}.tsv"
    wildcard_constraints:
        system=one_of(filter(FILES.is_rescored, TUNED)),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="12h",
        # lists are scored already
        gpu=lambda wildcards: INPUTS.gpus(wildcards) * FILES.rescores_lattices(wildcards.system),
    params:
        **step("tuning.reranking_steps:tune_reranking", INPUTS.scorers),
        settings=INPUTS.tuning_settings,
        seed=INPUTS.seed,
    script:
        "../workflow_scripts/run_step.py"


rule tuning:
    """Weights of every system and run that is tuned."""
    input:
        results("tuning/{system}/run{run}/weights.json", system=TUNED, run=RUNS),
