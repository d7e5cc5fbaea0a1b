rule write_table:
    """Write the table of systems: BLEU on every set, mean and spread over runs, significance."""
    input:
        depends=[
            results("evaluation/{system}/run{run}/{set}.json", system=SYSTEMS, run=RUNS, set=SETS),
            results("evaluation/significance/{set}.json", set=SETS),
        ],
        code=code("report.steps"),
    output:
        csv_output=report(
            "results/{experiment}/report/table1.csv",
            caption="report/table1.rst",
            category="Results",
            labels={"what": "Table 1 (CSV)"},
        ),
        markdown_output="results/{experiment}/report/table1.md",
    log:
        "results/{experiment}/logs/write_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_table.tsv"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        scores=lambda wildcards: {
            label: {
                name: [f"results/{wildcards.experiment}/evaluation/{system}/run{run}/{name}.json" for run in RUNS]
                for name in SETS
            }
            for system, label in labels().items()
        },
        significance=lambda wildcards: {
            name: f"results/{wildcards.experiment}/evaluation/significance/{name}.json" for name in SETS
        },
    conda:
        "../envs/neural_smt.yaml"
    script:
        "../workflow_scripts/report.py"
