rule describe_system:
    """Write what a system is made of, by relative path."""
    output:
        output="results/{experiment}/systems/{system}/system.json",
    log:
        "results/{experiment}/logs/describe_system/{system}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/describe_system/{system}.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("experiment.system_folder:write_description"),
        description=lambda wildcards: FILES.description(wildcards.system),
    script:
        "../workflow_scripts/run_step.py"


use rule describe_system as describe_search with:
    """Write how text is searched with the systems."""
    output:
        output="results/{experiment}/systems/search.json",
    log:
        "results/{experiment}/logs/describe_search.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/describe_search.tsv"
    localrule: True
    params:
        description=config["decoding"]["test"],


rule decode:
    """Translate a shard of a set with a tuned system."""
    input:
        unpack(INPUTS.system),
        text=f"results/{{experiment}}/corpus/tokenised/{{set}}.{SOURCE}",
        weights="results/{experiment}/tuning/{system}/run{run}/weights.json",
    output:
        output=of_shard("results/{experiment}/decoding/{system}/run{run}/{set}{scatteritem}.hypothesis"),
        statistics=of_shard("results/{experiment}/decoding/{system}/run{run}/{set}{scatteritem}.json"),
    log:
        "results/{experiment}/logs/decode/{system}.run{run}.{set}{scatteritem}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/decode/{system}.run{run}.{set}{scatteritem}.tsv"
    wildcard_constraints:
        system=one_of(SEARCHED),
        scatteritem=SHARD,
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime=shard_time(12),
        gpu=INPUTS.gpus,
        turn=1,
    params:
        **step("decoding.steps:decode", INPUTS.scorers),
        shard=shard_name,
    script:
        "../workflow_scripts/run_step.py"


if SHARDS > 1:

    rule join_translations:
        """Put the translations of shards of a set together."""
        input:
            text=f"results/{{experiment}}/corpus/tokenised/{{set}}.{SOURCE}",
            parts=gather.shards(
                "results/{{experiment}}/decoding/{{system}}/run{{run}}/{{set}}.{scatteritem}.hypothesis"
            ),
            part_statistics=gather.shards(
                "results/{{experiment}}/decoding/{{system}}/run{{run}}/{{set}}.{scatteritem}.json"
            ),
        output:
            output="results/{experiment}/decoding/{system}/run{run}/{set}.hypothesis",
            statistics="results/{experiment}/decoding/{system}/run{run}/{set}.json",
        log:
            "results/{experiment}/logs/join_translations/{system}.run{run}.{set}.log",
        benchmark:
            "results/{experiment}/benchmarks/decoding/join_translations/{system}.run{run}.{set}.tsv"
        wildcard_constraints:
            system=one_of(SEARCHED),
        conda:
            "../envs/neural_smt.yaml"
        params:
            **step("decoding.joining_steps:join_translations"),
        script:
            "../workflow_scripts/run_step.py"


rule export_moses:
    """Write a tuned system as a folder that Moses loads."""
    input:
        unpack(INPUTS.system),
        weights="results/{experiment}/tuning/{system}/run{run}/weights.json",
        arpas=INPUTS.arpas,
    output:
        output=directory("results/{experiment}/decoding/{system}/run{run}/moses"),
    log:
        "results/{experiment}/logs/export_moses/{system}.run{run}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/export_moses/{system}.run{run}.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="4h",
    params:
        **step("decoding.moses.steps:export_moses"),
    script:
        "../workflow_scripts/run_step.py"


rule export:
    """Every system and run that Moses can load, as a folder for it."""
    input:
        results("decoding/{system}/run{run}/moses", system=EXPORTED, run=RUNS),


rule decoding:
    """Translations of every set by every system and run."""
    input:
        results_of_runs("decoding/{system}/run{run}/{set}.hypothesis", set=SETS),
