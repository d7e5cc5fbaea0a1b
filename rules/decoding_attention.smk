rule translate_attention:
    """Translate a shard of a set with an attention network alone (Mi et al. 2016)."""
    input:
        unpack(INPUTS.attention_translation),
    output:
        output=of_shard("results/{experiment}/decoding/{system}/run{run}/{set}{scatteritem}.hypothesis"),
        statistics=of_shard("results/{experiment}/decoding/{system}/run{run}/{set}{scatteritem}.json"),
        alignment=of_shard("results/{experiment}/decoding/{system}/run{run}/{set}{scatteritem}.align"),
    log:
        "results/{experiment}/logs/decode/{system}.run{run}.{set}{scatteritem}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/decode/{system}.run{run}.{set}{scatteritem}.tsv"
    wildcard_constraints:
        system=one_of(TRANSLATED),
        scatteritem=SHARD,
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime=shard_time(12),
        gpu=INPUTS.gpus,
        turn=1,
    params:
        **step("decoding.attention_steps:translate_attention"),
        shard=shard_name,
    script:
        "../workflow_scripts/run_step.py"


if SHARDS > 1:

    use rule join_translations as join_attention with:
        input:
            text=lambda wildcards: FILES.text(wildcards.set, SOURCE),
            parts=gather.shards(
                "results/{{experiment}}/decoding/{{system}}/run{{run}}/{{set}}.{scatteritem}.hypothesis"
            ),
            part_statistics=gather.shards(
                "results/{{experiment}}/decoding/{{system}}/run{{run}}/{{set}}.{scatteritem}.json"
            ),
            part_alignments=gather.shards(
                "results/{{experiment}}/decoding/{{system}}/run{{run}}/{{set}}.{scatteritem}.align"
            ),
        output:
            output="results/{experiment}/decoding/{system}/run{run}/{set}.hypothesis",
            statistics="results/{experiment}/decoding/{system}/run{run}/{set}.json",
            alignment="results/{experiment}/decoding/{system}/run{run}/{set}.align",
        log:
            "results/{experiment}/logs/join_attention/{system}.run{run}.{set}.log",
        benchmark:
            "results/{experiment}/benchmarks/decoding/join_attention/{system}.run{run}.{set}.tsv"
        wildcard_constraints:
            system=one_of(TRANSLATED),


rule measure_epochs:
    """Translate the development set with the weights of every epoch of an attention network (Mi et al. 2016, Figure 2)."""
    input:
        unpack(INPUTS.epochs),
    output:
        output="results/{experiment}/training/{network}/epochs.csv",
    log:
        "results/{experiment}/logs/measure_epochs.{network}.log",
    benchmark:
        "results/{experiment}/benchmarks/training/measure_epochs.{network}.tsv"
    wildcard_constraints:
        network=one_of(LEARNING_CURVES),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime="24h",
        gpu=USES_GPU,
    params:
        **step("decoding.attention_steps:measure_epochs"),
        settings=config["decoding"]["attention"],
        # not an output: a killed run finds there what it has measured
        state=lambda wildcards: f"results/{wildcards.experiment}/training/{wildcards.network}/epochs.json",
    script:
        "../workflow_scripts/run_step.py"
