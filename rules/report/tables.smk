"""Tables and a figure of the systems, what they are built from, and the networks."""


rule write_table:
    """Write the table of systems: BLEU on every set, mean and spread over runs, significance."""
    input:
        depends=[
            results_of_runs("evaluation/{system}/run{run}/{set}.json", set=SETS),
            results("evaluation/significance/{set}.json", set=SETS),
        ],
    output:
        csv_output="results/{experiment}/report/table1.csv",
        markdown_output="results/{experiment}/report/table1.md",
    log:
        "results/{experiment}/logs/write_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_table.tsv"
    localrule: True
    conda:
        "../../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        **step("report.scores:write_table"),
        scores=lambda wildcards: score_files(wildcards.experiment),
        significance=lambda wildcards: significance_files(wildcards.experiment),
        labels=labels(),
        title=f"BLEU of the systems of {config['experiment']}",
    script:
        "../../workflow_scripts/run_step.py"


rule plot_scores:
    """Draw BLEU of every system and run."""
    input:
        depends=results_of_runs("evaluation/{system}/run{run}/{set}.json", set=SETS),
    output:
        plot="results/{experiment}/report/bleu.png",
    log:
        "results/{experiment}/logs/plot_scores.log",
    benchmark:
        "results/{experiment}/benchmarks/report/plot_scores.tsv"
    localrule: True
    conda:
        "../../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        **step("report.scores:plot_scores"),
        scores=lambda wildcards: score_files(wildcards.experiment),
        labels=labels(),
        title=f"BLEU of the systems of {config['experiment']}",
    script:
        "../../workflow_scripts/run_step.py"


rule write_data_table:
    """Write the table of data: selected pairs beside all of the pool and a random draw of it."""
    input:
        depends=[
            [file for files in compared_data().values() for name, file in files.items() if name != "data"],
            results_of_runs("evaluation/{system}/run{run}/{set}.json", systems=list(compared_data()), set=SETS),
            results("evaluation/significance/{set}.json", set=SETS),
        ],
    output:
        csv_output="results/{experiment}/report/data.csv",
        markdown_output="results/{experiment}/report/data.md",
    log:
        "results/{experiment}/logs/write_data_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_data_table.tsv"
    conda:
        "../../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
        runtime="1h",
    params:
        **step("report.scores:write_data_table"),
        data=compared_data(),
        scores=lambda wildcards: score_files(wildcards.experiment),
        significance=lambda wildcards: significance_files(wildcards.experiment),
        labels=labels(),
        title=f"What the systems of {EXPERIMENT} are built from",
    script:
        "../../workflow_scripts/run_step.py"


rule write_networks_table:
    """Write the table of networks: size, training, speed."""
    input:
        depends=[path for files in network_files().values() for path in input_files(files)],
    output:
        csv_output="results/{experiment}/report/networks.csv",
        markdown_output="results/{experiment}/report/networks.md",
    log:
        "results/{experiment}/logs/write_networks_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_networks_table.tsv"
    localrule: True
    conda:
        "../../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        **step("report.networks:write_networks_table"),
        networks=network_files(),
        title=f"Networks of {config['experiment']}",
    script:
        "../../workflow_scripts/run_step.py"
