rule decode_lists:
    """Translate a set with a tuned system and list its best translations, to be rescored."""
    input:
        unpack(system_inputs),
        text=f"results/{{experiment}}/corpus/tokenised/{{set}}.{SOURCE}",
        weights="results/{experiment}/tuning/{system}/run{run}/weights.json",
    output:
        output="results/{experiment}/decoding/{system}/run{run}/{set}.listed",
        statistics="results/{experiment}/decoding/{system}/run{run}/{set}.listed.json",
        nbest="results/{experiment}/decoding/{system}/run{run}/{set}.nbest.gz",
    log:
        "results/{experiment}/logs/decode_lists/{system}.run{run}.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/decode_lists/{system}.run{run}.{set}.tsv"
    wildcard_constraints:
        system=one_of(SEARCHED if SHARDS == 1 else []),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="12h",
    params:
        **step("decoding.steps:decode"),
        nbest_size=config["decoding"]["rescored_nbest"],
    script:
        "../workflow_scripts/run_step.py"


use rule decode_lists as decode_lists_shard with:
    output:
        output=temp("results/{experiment}/decoding/{system}/run{run}/shards/{set}.listed.{scatteritem}"),
        statistics=temp("results/{experiment}/decoding/{system}/run{run}/shards/{set}.listed.{scatteritem}.json"),
        nbest=temp("results/{experiment}/decoding/{system}/run{run}/shards/{set}.{scatteritem}.nbest.gz"),
    log:
        "results/{experiment}/logs/decode_lists/{system}.run{run}.{set}.{scatteritem}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/decode_lists/{system}.run{run}.{set}.{scatteritem}.tsv"
    wildcard_constraints:
        system=one_of(SEARCHED),
    params:
        shard="{scatteritem}",


use rule join_translations as join_lists with:
    input:
        text=f"results/{{experiment}}/corpus/tokenised/{{set}}.{SOURCE}",
        parts=gather.shards("results/{{experiment}}/decoding/{{system}}/run{{run}}/shards/{{set}}.listed.{scatteritem}"),
        part_statistics=gather.shards(
            "results/{{experiment}}/decoding/{{system}}/run{{run}}/shards/{{set}}.listed.{scatteritem}.json"
        ),
        part_lists=gather.shards(
            "results/{{experiment}}/decoding/{{system}}/run{{run}}/shards/{{set}}.{scatteritem}.nbest.gz"
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
        runtime="1h",


rule rescore:
    """Score n-best lists of a system's base with the CSLM."""
    input:
        nbest=base_lists,
        cslm=lambda wildcards: LAYOUT.network(rescoring_network(SYSTEMS[wildcards.system])),
        language_model="results/{experiment}/language_model/model",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
    output:
        output="results/{experiment}/decoding/{system}/run{run}/{set}.scored.nbest.gz",
    log:
        "results/{experiment}/logs/rescore/{system}.run{run}.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/rescore/{system}.run{run}.{set}.tsv"
    wildcard_constraints:
        system=one_of(RESCORES_WITH_CSLM if SHARDS == 1 else []),
    conda:
        "../envs/neural_smt.yaml"
    threads: 2
    resources:
        mem_mb=memory(4),
        runtime="12h",
    params:
        **step("decoding.steps:rescore"),
        settings=config["decoding"]["cslm"],
    script:
        "../workflow_scripts/run_step.py"


use rule rescore as rescore_shard with:
    output:
        output=temp("results/{experiment}/decoding/{system}/run{run}/shards/{set}.scored.{scatteritem}.nbest.gz"),
    log:
        "results/{experiment}/logs/rescore/{system}.run{run}.{set}.{scatteritem}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/rescore/{system}.run{run}.{set}.{scatteritem}.tsv"
    wildcard_constraints:
        system=one_of(RESCORES_WITH_CSLM),
    params:
        shard="{scatteritem}",


rule score_lists:
    """Score n-best lists of a system's base with an attention network."""
    input:
        unpack(rescoring_attention_inputs),
    output:
        output="results/{experiment}/decoding/{system}/run{run}/{set}.scored.nbest.gz",
    log:
        "results/{experiment}/logs/rescore/{system}.run{run}.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/rescore/{system}.run{run}.{set}.tsv"
    wildcard_constraints:
        system=one_of(RESCORES_WITH_ATTENTION if SHARDS == 1 else []),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime="12h",
        gpu=USES_GPU,
    params:
        **step("decoding.attention_steps:score_lists"),
        precision=config["decoding"]["attention"]["precision"],
        nbest_size=lambda wildcards: SYSTEMS[wildcards.system]["rescoring"]["nbest"],
    script:
        "../workflow_scripts/run_step.py"


use rule score_lists as score_lists_shard with:
    output:
        output=temp("results/{experiment}/decoding/{system}/run{run}/shards/{set}.scored.{scatteritem}.nbest.gz"),
    log:
        "results/{experiment}/logs/rescore/{system}.run{run}.{set}.{scatteritem}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/rescore/{system}.run{run}.{set}.{scatteritem}.tsv"
    wildcard_constraints:
        system=one_of(RESCORES_WITH_ATTENTION),
    params:
        shard="{scatteritem}",


rule join_scores:
    """Put the scored n-best lists of shards together."""
    input:
        parts=gather.shards(
            "results/{{experiment}}/decoding/{{system}}/run{{run}}/shards/{{set}}.scored.{scatteritem}.nbest.gz"
        ),
    output:
        output="results/{experiment}/decoding/{system}/run{run}/{set}.scored.nbest.gz",
    log:
        "results/{experiment}/logs/join_scores/{system}.run{run}.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/join_scores/{system}.run{run}.{set}.tsv"
    wildcard_constraints:
        system=one_of(RESCORES_LISTS if SHARDS > 1 else []),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        **step("decoding.joining_steps:join_scores"),
    script:
        "../workflow_scripts/run_step.py"


rule reorder:
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
        runtime="1h",
    params:
        **step("decoding.steps:reorder"),
    script:
        "../workflow_scripts/run_step.py"
