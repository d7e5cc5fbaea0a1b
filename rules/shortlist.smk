rule build_shortlists:
    """Choose the words the networks know and measure how much running text they cover."""
    input:
        source_text=f"results/{{experiment}}/selection/train.{SOURCE}",
        target_text=f"results/{{experiment}}/selection/train.{TARGET}",
        depends=[tokenised(SETS, side) for side in (SOURCE, TARGET)],
    output:
        source_output=f"results/{{experiment}}/shortlist/shortlist.{SOURCE}.tsv",
        target_output=f"results/{{experiment}}/shortlist/shortlist.{TARGET}.tsv",
        table="results/{experiment}/shortlist/coverage.csv",
    log:
        "results/{experiment}/logs/build_shortlists.log",
    benchmark:
        "results/{experiment}/benchmarks/shortlist/build_shortlists.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
    params:
        **step("shortlist:build_shortlists"),
        size=config["shortlist"]["size"],
        coverage=lambda wildcards, input: {
            "train": [input.source_text, input.target_text],
            **{
                name: [f"results/{wildcards.experiment}/corpus/tokenised/{name}.{side}" for side in (SOURCE, TARGET)]
                for name in SETS
            },
        },
    script:
        "../workflow_scripts/run_step.py"


rule shortlist:
    """Shortlists of both languages."""
    input:
        results("shortlist/coverage.csv"),
