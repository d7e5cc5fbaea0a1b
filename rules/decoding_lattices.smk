rule decode_lattices:
    """Translate a set with a tuned system and keep its lattices, to be rescored or, less pruned, to draw lists from."""
    input:
        unpack(INPUTS.system),
        text=f"results/{{experiment}}/corpus/tokenised/{{set}}.{SOURCE}",
        weights="results/{experiment}/tuning/{system}/run{run}/weights.json",
    output:
        output=directory("results/{experiment}/decoding/{system}/run{run}/{set}.{density}"),
        statistics="results/{experiment}/decoding/{system}/run{run}/{set}.{density}.json",
    log:
        "results/{experiment}/logs/decode_lattices/{system}.run{run}.{set}.{density}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/decode_lattices/{system}.run{run}.{set}.{density}.tsv"
    wildcard_constraints:
        system=one_of(SEARCHED),
        density="lattices|dense",
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="12h",
    params:
        **step("decoding.reranking_steps:decode_lattices", INPUTS.scorers),
        density=lambda wildcards: config["decoding"][
            "lattice_density" if wildcards.density == "lattices" else "list_density"
        ],
    script:
        "../workflow_scripts/run_step.py"


rule rescore_lattices:
    """Choose translations among the lattices of a system's base with a network (Auli et al. 2013)."""
    input:
        unpack(INPUTS.candidates),
        weights="results/{experiment}/tuning/{system}/run{run}/weights.json",
    output:
        output="results/{experiment}/decoding/{system}/run{run}/{set}.hypothesis",
        statistics="results/{experiment}/decoding/{system}/run{run}/{set}.json",
    log:
        "results/{experiment}/logs/decode/{system}.run{run}.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/decode/{system}.run{run}.{set}.tsv"
    wildcard_constraints:
        system=one_of(RESCORES_LATTICES),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="12h",
        gpu=INPUTS.gpus,
    params:
        **step("decoding.reranking_steps:rescore_lattices", INPUTS.scorers),
    script:
        "../workflow_scripts/run_step.py"


rule measure_oracles:
    """Measure the best BLEU that n-best lists and lattices of a system could give."""
    input:
        lattices="results/{experiment}/decoding/{system}/run{run}/{set}.lattices",
        lists="results/{experiment}/decoding/{system}/run{run}/{set}.dense",
        reference=f"results/{{experiment}}/corpus/tokenised/{{set}}.{TARGET}",
    output:
        table="results/{experiment}/decoding/{system}/run{run}/{set}.oracles.csv",
    log:
        "results/{experiment}/logs/measure_oracles/{system}.run{run}.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/decoding/measure_oracles/{system}.run{run}.{set}.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="4h",
    params:
        **step("decoding.reranking_steps:measure_oracles"),
        sizes=[100, 1000],
    script:
        "../workflow_scripts/run_step.py"
