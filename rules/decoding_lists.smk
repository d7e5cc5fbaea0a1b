use rule decode as decode_lists with:
    """Translate a shard of a set with a tuned system and list its best translations, to be rescored."""
    output:
        output=of_shard("results/{experiment}/decoding/{system}/run{run}/{set}{scatteritem}.listed"),
        statistics=of_shard("results/{experiment}/decoding/{system}/run{run}/{set}{scatteritem}.listed.json"),
        nbest=of_shard("results/{experiment}/decoding/{system}/run{run}/{set}{scatteritem}.nbest.gz"),
    log:
        "results/{experiment}/logs/decode_lists/{system}.run{run}.{set}{scatteritem}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/decode_lists/{system}.run{run}.{set}{scatteritem}.tsv"
    params:
        nbest_size=lambda wildcards: FILES.listed_entries(wildcards.system),
        nbest_alignment=INPUTS.lists_need_alignment,


if SHARDS > 1:

    use rule join_translations as join_lists with:
        """Put the translations and n-best lists of shards of a set together."""
        input:
            text=f"results/{{experiment}}/corpus/tokenised/{{set}}.{SOURCE}",
            parts=gather.shards("results/{{experiment}}/decoding/{{system}}/run{{run}}/{{set}}.{scatteritem}.listed"),
            part_statistics=gather.shards(
                "results/{{experiment}}/decoding/{{system}}/run{{run}}/{{set}}.{scatteritem}.listed.json"
            ),
            part_lists=gather.shards(
                "results/{{experiment}}/decoding/{{system}}/run{{run}}/{{set}}.{scatteritem}.nbest.gz"
            ),
        output:
            output="results/{experiment}/decoding/{system}/run{run}/{set}.listed",
            statistics="results/{experiment}/decoding/{system}/run{run}/{set}.listed.json",
            nbest="results/{experiment}/decoding/{system}/run{run}/{set}.nbest.gz",
        log:
            "results/{experiment}/logs/join_lists/{system}.run{run}.{set}.log",
        benchmark:
            "results/{experiment}/benchmarks/decoding/join_lists/{system}.run{run}.{set}.tsv"
        resources:
            mem_mb=memory(4),


rule score_lists:
    """Score n-best lists of a system's base with a network; shards score some sentences each."""
    input:
        unpack(INPUTS.candidates),
    output:
        output=of_shard("results/{experiment}/decoding/{system}/run{run}/{set}.scored{scatteritem}.nbest.gz"),
    log:
        "results/{experiment}/logs/score_lists/{system}.run{run}.{set}{scatteritem}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/score_lists/{system}.run{run}.{set}{scatteritem}.tsv"
    wildcard_constraints:
        system=one_of(RESCORES_LISTS),
        scatteritem=SHARD,
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime=shard_time(12),
        gpu=INPUTS.gpus,
        turn=1,
    params:
        **step("decoding.reranking_steps:score_lists", INPUTS.scorers),
        shard=shard_name,
    script:
        "../workflow_scripts/run_step.py"


if SHARDS > 1:

    rule join_scores:
        """Put the scored n-best lists of shards together."""
        input:
            parts=gather.shards(
                "results/{{experiment}}/decoding/{{system}}/run{{run}}/{{set}}.scored.{scatteritem}.nbest.gz"
            ),
        output:
            output="results/{experiment}/decoding/{system}/run{run}/{set}.scored.nbest.gz",
        log:
            "results/{experiment}/logs/join_scores/{system}.run{run}.{set}.log",
        benchmark:
            "results/{experiment}/benchmarks/decoding/join_scores/{system}.run{run}.{set}.tsv"
        wildcard_constraints:
            system=one_of(RESCORES_LISTS),
        conda:
            "../envs/neural_smt.yaml"
        params:
            **step("decoding.joining_steps:join_scores"),
        script:
            "../workflow_scripts/run_step.py"


rule rerank:
    """Translations of a set: the best ones of rescored lists."""
    input:
        nbest="results/{experiment}/decoding/{system}/run{run}/{set}.scored.nbest.gz",
        weights="results/{experiment}/tuning/{system}/run{run}/weights.json",
    output:
        output="results/{experiment}/decoding/{system}/run{run}/{set}.hypothesis",
        statistics="results/{experiment}/decoding/{system}/run{run}/{set}.json",
    log:
        "results/{experiment}/logs/decode/{system}.run{run}.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/decode/{system}.run{run}.{set}.tsv"
    wildcard_constraints:
        system=one_of(RESCORES_LISTS),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
    params:
        **step("decoding.reranking_steps:rerank"),
    script:
        "../workflow_scripts/run_step.py"
