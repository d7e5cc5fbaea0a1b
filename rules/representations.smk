rule build_representation:
    """Build what a joint model reads of the source sentence (Auli et al. 2013, sections 5.1 to 5.4)."""
    input:
        source=f"results/{{experiment}}/selection/train.{SOURCE}",
        target=f"results/{{experiment}}/selection/train.{TARGET}",
        recurrent=lambda wildcards: [FILES.network(name) for name in [FILES.lending_network(wildcards.network)] if name],
    output:
        output=directory("results/{experiment}/representations/{network}/model"),
        statistics="results/{experiment}/representations/{network}/statistics.json",
    log:
        "results/{experiment}/logs/build_representation.{network}.log",
    benchmark:
        "results/{experiment}/benchmarks/representations/build_representation.{network}.tsv"
    wildcard_constraints:
        network=one_of(JOINT_INPUTS),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime="8h",
    params:
        **step("representations.steps:build_representation"),
        settings=lambda wildcards: JOINT_INPUTS[wildcards.network],
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


rule representations:
    """What the joint models of the experiment read of the source."""
    input:
        results("representations/{network}/model", network=JOINT_INPUTS),
