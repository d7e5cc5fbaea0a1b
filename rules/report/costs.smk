"""How tuning went, and what the stages took."""


rule plot_tuning:
    """Draw development BLEU over the iterations of MERT."""
    input:
        depends=results("tuning/{system}/run{run}/history.csv", system=TUNED, run=RUNS),
    output:
        plot="results/{experiment}/report/tuning.png",
    log:
        "results/{experiment}/logs/plot_tuning.log",
    benchmark:
        "results/{experiment}/benchmarks/report/plot_tuning.tsv"
    localrule: True
    conda:
        "../../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        **step("report.scores:plot_tuning"),
        histories=lambda wildcards: history_files(wildcards.experiment),
        labels=labels(),
    script:
        "../../workflow_scripts/run_step.py"


rule summarise_benchmarks:
    """Sum up what each stage cost in time and memory."""
    input:
        benchmarks=benchmark_files(),
    output:
        output="results/{experiment}/report/costs.csv",
        plot="results/{experiment}/report/costs.png",
    log:
        "results/{experiment}/logs/summarise_benchmarks.log",
    benchmark:
        "results/{experiment}/benchmarks/report/summarise_benchmarks.tsv"
    localrule: True
    conda:
        "../../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        **step("report.costs:summarise_benchmarks"),
    script:
        "../../workflow_scripts/run_step.py"


rule write_scaling_table:
    """Show how time and memory grow with the number of sentence pairs."""
    input:
        depends=list(scaling_files().values()),
    output:
        output="results/{experiment}/report/scaling.csv",
        plot="results/{experiment}/report/scaling.png",
    log:
        "results/{experiment}/logs/write_scaling_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_scaling_table.tsv"
    conda:
        "../../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        **step("report.costs:write_scaling_table"),
        benchmarks=scaling_files(),
    script:
        "../../workflow_scripts/run_step.py"
