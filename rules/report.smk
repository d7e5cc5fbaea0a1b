rule write_table:
    """Write the table of systems: BLEU on every set, mean and spread over runs, significance."""
    input:
        depends=[
            results_of_runs("evaluation/{system}/run{run}/{set}.json", set=SETS),
            results("evaluation/significance/{set}.json", set=SETS),
        ],
    output:
        csv_output=report(
            "results/{experiment}/report/table1.csv",
            caption="report/table1.rst",
            category="Results",
            labels={"what": "Table 1 (CSV)"},
        ),
        markdown_output=report(
            "results/{experiment}/report/table1.md",
            caption="report/table1.rst",
            category="Results",
            labels={"what": "Table 1 (Markdown)"},
        ),
    log:
        "results/{experiment}/logs/write_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_table.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        code=code("report.steps"),
        scores=lambda wildcards: score_files(wildcards.experiment),
        significance=lambda wildcards: significance_files(wildcards.experiment),
        labels=labels(),
        title=f"BLEU of the systems of {config['experiment']}",
    script:
        "../workflow_scripts/report.py"


rule write_data_table:
    """Write the table of data: selected pairs beside all of the pool and a random draw of it."""
    input:
        depends=[
            [file for files in compared_data().values() for name, file in files.items() if name != "data"],
            results_of_runs("evaluation/{system}/run{run}/{set}.json", systems=list(compared_data()), set=SETS),
            results("evaluation/significance/{set}.json", set=SETS),
        ],
    output:
        csv_output=report(
            "results/{experiment}/report/data.csv",
            caption="report/data.rst",
            category="Selection",
            labels={"text": "pairs", "what": "all, random and selected (CSV)"},
        ),
        markdown_output=report(
            "results/{experiment}/report/data.md",
            caption="report/data.rst",
            category="Selection",
            labels={"text": "pairs", "what": "all, random and selected (Markdown)"},
        ),
    log:
        "results/{experiment}/logs/write_data_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_data_table.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
        runtime="1h",
    params:
        code=code("report.steps"),
        data=compared_data(),
        scores=lambda wildcards: score_files(wildcards.experiment),
        significance=lambda wildcards: significance_files(wildcards.experiment),
        labels=labels(),
        title=f"What the systems of {EXPERIMENT} are built from",
    script:
        "../workflow_scripts/report.py"


rule plot_scores:
    """Draw BLEU of every system and run."""
    input:
        depends=results_of_runs("evaluation/{system}/run{run}/{set}.json", set=SETS),
    output:
        plot=report(
            "results/{experiment}/report/bleu.png",
            caption="report/bleu.rst",
            category="Results",
            labels={"what": "BLEU plot"},
        ),
    log:
        "results/{experiment}/logs/plot_scores.log",
    benchmark:
        "results/{experiment}/benchmarks/report/plot_scores.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        code=code("report.steps"),
        scores=lambda wildcards: score_files(wildcards.experiment),
        labels=labels(),
        title=f"BLEU of the systems of {config['experiment']}",
    script:
        "../workflow_scripts/report.py"


rule plot_tuning:
    """Draw development BLEU over the iterations of MERT."""
    input:
        depends=results("tuning/{system}/run{run}/history.csv", system=TUNED, run=RUNS),
    output:
        plot=report(
            "results/{experiment}/report/tuning.png",
            caption="report/tuning.rst",
            category="Tuning",
            labels={"what": "MERT history"},
        ),
    log:
        "results/{experiment}/logs/plot_tuning.log",
    benchmark:
        "results/{experiment}/benchmarks/report/plot_tuning.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        code=code("report.steps"),
        histories=lambda wildcards: history_files(wildcards.experiment),
        labels=labels(),
    script:
        "../workflow_scripts/report.py"


rule summarise_benchmarks:
    """Sum up what each stage cost in time and memory."""
    input:
        benchmarks=benchmark_files(),
    output:
        output=report(
            "results/{experiment}/report/costs.csv",
            caption="report/costs.rst",
            category="Costs",
            labels={"what": "table"},
        ),
        plot=report(
            "results/{experiment}/report/costs.png",
            caption="report/costs.rst",
            category="Costs",
            labels={"what": "plot"},
        ),
    log:
        "results/{experiment}/logs/summarise_benchmarks.log",
    benchmark:
        "results/{experiment}/benchmarks/report/summarise_benchmarks.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        code=code("report.steps"),
    script:
        "../workflow_scripts/report.py"


rule write_scaling_table:
    """Show how time and memory grow with the number of sentence pairs."""
    input:
        depends=list(scaling_files().values()),
    output:
        output=report(
            "results/{experiment}/report/scaling.csv",
            caption="report/scaling.rst",
            category="Costs",
            labels={"what": "over pairs (table)"},
        ),
        plot=report(
            "results/{experiment}/report/scaling.png",
            caption="report/scaling.rst",
            category="Costs",
            labels={"what": "over pairs (plot)"},
        ),
    log:
        "results/{experiment}/logs/write_scaling_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_scaling_table.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        code=code("report.steps"),
        benchmarks=scaling_files(),
    script:
        "../workflow_scripts/report.py"


rule show_translations:
    """Show sentences that the systems translate differently, side by side."""
    input:
        source=lambda wildcards: raw_text(wildcards.set, SOURCE),
        reference=lambda wildcards: raw_text(wildcards.set, TARGET),
        depends=expand("results/{{experiment}}/evaluation/{system}/run1/{{set}}.txt", system=SYSTEMS),
    output:
        output=report(
            "results/{experiment}/report/translations.{set}.html",
            caption="report/translations.rst",
            category="Translations",
            labels={"set": "{set}"},
        ),
    log:
        "results/{experiment}/logs/show_translations.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/report/show_translations.{set}.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        code=code("report.steps"),
        systems=lambda wildcards: {
            label: f"results/{wildcards.experiment}/evaluation/{system}/run1/{wildcards.set}.txt"
            for system, label in labels().items()
        },
        sentences=30,
        seed=config["seed"],
    script:
        "../workflow_scripts/report.py"


rule write_networks_table:
    """Write the table of networks: size, training, speed."""
    input:
        depends=[path for files in network_files().values() for path in input_files(files)],
    output:
        csv_output=report(
            "results/{experiment}/report/networks.csv",
            caption="report/networks.rst",
            category="Networks",
            labels={"network": "all", "what": "table (CSV)"},
        ),
        markdown_output=report(
            "results/{experiment}/report/networks.md",
            caption="report/networks.rst",
            category="Networks",
            labels={"network": "all", "what": "table (Markdown)"},
        ),
    log:
        "results/{experiment}/logs/write_networks_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_networks_table.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        code=code("report.steps"),
        networks=network_files(),
        title=f"Networks of {config['experiment']}",
    script:
        "../workflow_scripts/report.py"


rule write_paper_order:
    """Write the systems beside Table 1 of Cho et al. (2014), with what may explain another order."""
    input:
        depends=results_of_runs("evaluation/{system}/run{run}/{set}.json", systems=PAPER_ROWS.values(), set=SETS),
        order=results("evaluation/order/{set}.json", set=SETS),
        networks="results/{experiment}/report/networks.csv",
        phrase_table="results/{experiment}/phrases/table",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
        target_shortlist=f"results/{{experiment}}/shortlist/shortlist.{TARGET}.tsv",
        perplexity=["results/{experiment}/training/cslm/perplexity.json"] if USES_CSLM else [],
    output:
        csv_output=report(
            "results/{experiment}/report/paper_order.csv",
            caption="report/paper_order.rst",
            category="Results",
            labels={"what": "The paper's order (CSV)"},
        ),
        markdown_output=report(
            "results/{experiment}/report/paper_order.md",
            caption="report/paper_order.rst",
            category="Results",
            labels={"what": "The paper's order (Markdown)"},
        ),
    log:
        "results/{experiment}/logs/write_paper_order.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_paper_order.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
        runtime="1h",
    params:
        code=code("report.steps"),
        rows=PAPER_ROWS,
        scores=lambda wildcards: score_files(wildcards.experiment),
        sets=SETS,
        remarks=config["report"]["remarks"],
        title=f"The order of Cho et al. (2014) and that of {config['experiment']}",
    script:
        "../workflow_scripts/report.py"


rule write_joint_tables:
    """Write the experiment beside the tables of Auli et al. (2013), and draw their Figure 3."""
    input:
        depends=[path for files in joint_files().values() for path in listed_paths(files)],
    output:
        csv_output=report(
            "results/{experiment}/report/joint.csv",
            caption="report/joint.rst",
            category="Joint models",
            labels={"what": "Tables (CSV)"},
        ),
        markdown_output=report(
            "results/{experiment}/report/joint.md",
            caption="report/joint.rst",
            category="Joint models",
            labels={"what": "Tables (Markdown)"},
        ),
        plot=report(
            "results/{experiment}/report/joint.png",
            caption="report/joint.rst",
            category="Joint models",
            labels={"what": "Figure 3"},
        ),
    log:
        "results/{experiment}/logs/write_joint_tables.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_joint_tables.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
        runtime="1h",
    params:
        code=code("report.steps"),
        scores=lambda wildcards: joint_files()["scores"],
        significance=lambda wildcards: joint_files()["significance"],
        perplexities=lambda wildcards: joint_files()["perplexities"],
        choices=lambda wildcards: joint_files()["choices"],
        searches=lambda wildcards: joint_files()["searches"],
        oracles=lambda wildcards: joint_files()["oracles"],
        remarks=config["report"]["remarks"],
        title=f"The tables of Auli et al. (2013) and {EXPERIMENT}",
    script:
        "../workflow_scripts/report.py"


rule write_attention_tables:
    """Write the experiment beside the tables of Mi et al. (2016), and draw their Figure 2."""
    input:
        depends=lambda wildcards: listed_paths(attention_files()),
    output:
        csv_output=report(
            "results/{experiment}/report/attention.csv",
            caption="report/attention.rst",
            category="Attention networks",
            labels={"what": "Tables (CSV)"},
        ),
        markdown_output=report(
            "results/{experiment}/report/attention.md",
            caption="report/attention.rst",
            category="Attention networks",
            labels={"what": "Tables (Markdown)"},
        ),
        plot=report(
            "results/{experiment}/report/attention.png",
            caption="report/attention.rst",
            category="Attention networks",
            labels={"what": "Figure 2"},
        ),
    log:
        "results/{experiment}/logs/write_attention_tables.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_attention_tables.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
        runtime="1h",
    params:
        code=code("report.steps"),
        systems=attention_rows(),
        scores=lambda wildcards: attention_files()["scores"],
        significance=lambda wildcards: attention_files()["significance"],
        translations=lambda wildcards: attention_files()["translations"],
        curves=lambda wildcards: {
            name: files | {"keep": ATTENTION_SETTINGS[name]["keep"]}
            for name, files in attention_files()["curves"].items()
        },
        epochs=lambda wildcards: attention_files()["epochs"],
        coverage=lambda wildcards: attention_files()["coverage"],
        remarks=config["report"]["remarks"],
        title=f"The tables of Mi et al. (2016) and {EXPERIMENT}",
    script:
        "../workflow_scripts/report.py"


rule write_classes_table:
    """Write the table of word classes: what each computes for a word, and the perplexity of a model with them."""
    input:
        depends=[path for model in class_files().values() for path in model["files"].values()],
    output:
        csv_output=report(
            "results/{experiment}/report/classes.csv",
            caption="report/classes.rst",
            category="Joint models",
            labels={"what": "Word classes (CSV)"},
        ),
        markdown_output=report(
            "results/{experiment}/report/classes.md",
            caption="report/classes.rst",
            category="Joint models",
            labels={"what": "Word classes (Markdown)"},
        ),
    log:
        "results/{experiment}/logs/write_classes_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_classes_table.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        code=code("report.steps"),
        networks={name: {"classes": model["classes"], **model["files"]} for name, model in class_files().items()},
        sets=SETS,
        title=f"Word classes of {EXPERIMENT}",
    script:
        "../workflow_scripts/report.py"


rule report:
    """Tables and figures; `snakemake --report` binds them into one page."""
    input:
        results("report/{name}", name=["table1.csv", "bleu.png", "tuning.png", "costs.csv", "networks.csv"]),
        results("report/paper_order.csv") if {"baseline", "rnn"} <= set(PAPER_ROWS) else [],
        results("report/translations.{set}.html", set=CORPUS["test"]),
        results("report/data.csv") if VARIANTS else [],
        results("report/scaling.csv") if len(scaling_files()) > 1 else [],
        results("report/joint.csv") if RESCORES_LATTICES else [],
        results("report/classes.csv") if COMPARED_CLASSES else [],
        results("report/attention.csv") if TRANSLATED else [],
        rules.analysis.input if NETWORKS else [],
