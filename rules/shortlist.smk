rule build_shortlists:
    """Choose the words the networks know and measure how much running text they cover."""
    input:
        source_text=f"results/{{experiment}}/selection/train.{SOURCE}",
        target_text=f"results/{{experiment}}/selection/train.{TARGET}",
        depends=listed_paths(FILES.texts),
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
        coverage=FILES.texts,
    script:
        "../workflow_scripts/run_step.py"


rule shortlist:
    """Shortlists of both languages."""
    input:
        results("shortlist/coverage.csv"),
