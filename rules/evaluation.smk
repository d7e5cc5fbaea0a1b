SIGNIFICANCE_TEST = {key: config["evaluation"][key] for key in ("test", "trials")}


rule evaluate:
    """Detokenise one translation and score it: sacreBLEU on text, BLEU on tokens."""
    input:
        hypothesis="results/{experiment}/decoding/{system}/run{run}/{set}.hypothesis",
        reference_tokens=f"results/{{experiment}}/corpus/tokenised/{{set}}.{TARGET}",
        reference_text=lambda wildcards: INPUTS.raw_text(wildcards.set, TARGET),
    output:
        output="results/{experiment}/evaluation/{system}/run{run}/{set}.json",
        translation="results/{experiment}/evaluation/{system}/run{run}/{set}.txt",
    log:
        "results/{experiment}/logs/evaluate/{system}.run{run}.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/evaluation/evaluate/{system}.run{run}.{set}.tsv"
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("evaluation.steps:evaluate"),
        language=TARGET,
    script:
        "../workflow_scripts/run_step.py"


rule compare:
    """Test every system against its control, over all tuning runs."""
    input:
        references=INPUTS.references,
        depends=lambda wildcards: listed_paths(FILES.translations(SYSTEMS, wildcards.set)),
    output:
        output="results/{experiment}/evaluation/significance/{set}.json",
    log:
        "results/{experiment}/logs/compare.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/evaluation/compare.{set}.tsv"
    wildcard_constraints:
        set=one_of(map(re.escape, FILES.compared)),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
    params:
        **step("evaluation.steps:compare"),
        systems=lambda wildcards: FILES.translations(SYSTEMS, wildcards.set),
        controls={name: FILES.control(name) for name in SYSTEMS},
        settings=SIGNIFICANCE_TEST,
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


use rule compare as compare_neighbours with:
    """Test the systems that stand for the paper's rows against each other, each against the one before."""
    input:
        references=INPUTS.references,
        depends=lambda wildcards: listed_paths(FILES.translations(FILES.paper_rows().values(), wildcards.set)),
    output:
        output="results/{experiment}/evaluation/order/{set}.json",
    log:
        "results/{experiment}/logs/compare_neighbours.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/evaluation/compare_neighbours.{set}.tsv"
    params:
        systems=lambda wildcards: FILES.translations(FILES.paper_rows().values(), wildcards.set),
        controls={after: before for before, after in pairwise(FILES.paper_rows().values())},


use rule compare as compare_joint with:
    """Test the systems of Auli et al. (2013) against the target-only recurrent model by paired bootstrap, as they did."""
    input:
        references=INPUTS.references,
        depends=lambda wildcards: listed_paths(FILES.translations(FILES.joint_systems, wildcards.set)),
    output:
        output="results/{experiment}/evaluation/joint/{set}.json",
    log:
        "results/{experiment}/logs/compare_joint.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/evaluation/compare_joint.{set}.tsv"
    params:
        systems=lambda wildcards: FILES.translations(FILES.joint_systems, wildcards.set),
        controls={name: FILES.target_only for name in FILES.joint_systems if name != FILES.target_only},
        settings=SIGNIFICANCE_TEST | {"test": "bootstrap"},


rule evaluation:
    """BLEU and significance of every system on every set."""
    input:
        results_of_runs("evaluation/{system}/run{run}/{set}.json", set=SETS),
        list(FILES.significance().values()),
