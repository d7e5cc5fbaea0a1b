MEASURED = [name for name in FILES.scoring_networks(*KINDS) if FILES.kind(name).measured]


rule train_network:
    """Train a network of any kind: an encoder-decoder, a CSLM, a recurrent or an attention network."""
    input:
        depends=lambda wildcards: listed_paths(INPUTS.training(wildcards)),
    output:
        output=directory("results/{experiment}/training/{network}/model"),
        curve="results/{experiment}/training/{network}/curve.csv",
        plot="results/{experiment}/training/{network}/curve.png",
        held_out="results/{experiment}/training/{network}/held_out.json",
        epochs=directory("results/{experiment}/training/{network}/epochs"),
    log:
        "results/{experiment}/logs/train_network.{network}.log",
    benchmark:
        "results/{experiment}/benchmarks/training/train_network.{network}.tsv"
    wildcard_constraints:
        network=one_of(FILES.used_networks()),
    conda:
        "../envs/neural_smt.yaml"
    threads: lambda wildcards: FILES.training_threads(wildcards.network) * PROCESSES
    resources:
        mem_mb=memory(8),
        runtime=lambda wildcards: f"{FILES.kind(wildcards.network).hours}h",
        gpu=USES_GPU * PROCESSES,
    params:
        **step("training.steps:train_network", INPUTS.trainers),
        kind=lambda wildcards: FILES.kind_of(wildcards.network),
        inputs=INPUTS.training,
        settings=lambda wildcards: FILES.training_settings(wildcards.network),
        by_epoch=lambda wildcards: wildcards.network in LEARNING_CURVES,
        title=lambda wildcards: f"{FILES.kind(wildcards.network).title} ({wildcards.network})",
        seed=config["seed"],
        # not an output: a killed run finds its state there and goes on
        state=lambda wildcards: f"results/{wildcards.experiment}/training/{wildcards.network}/state",
    script:
        "../workflow_scripts/run_step.py"


rule measure_network:
    """Measure a network's perplexity of texts beside that of an n-gram model."""
    input:
        depends=lambda wildcards: listed_paths(INPUTS.measuring(wildcards)),
    output:
        output="results/{experiment}/training/{network}/perplexity.json",
    log:
        "results/{experiment}/logs/measure_network.{network}.log",
    benchmark:
        "results/{experiment}/benchmarks/training/measure_network.{network}.tsv"
    wildcard_constraints:
        network=one_of(MEASURED),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime="4h",
        gpu=USES_GPU,
    params:
        **step("training.steps:measure_network", INPUTS.trainers),
        kind=lambda wildcards: FILES.kind_of(wildcards.network),
        inputs=INPUTS.measuring,
        settings=lambda wildcards: FILES.training_settings(wildcards.network),
    script:
        "../workflow_scripts/run_step.py"


rule training:
    """All networks of the experiment."""
    input:
        results("training/{network}/model", network=FILES.used_networks()),
        results("training/{network}/perplexity.json", network=CSLMS),
