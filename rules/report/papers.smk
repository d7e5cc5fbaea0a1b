"""The experiment beside the tables and figures of each paper."""


rule write_paper_order:
    """Write the systems beside Table 1 of Cho et al. (2014), with what may explain another order."""
    input:
        depends=results_of_runs("evaluation/{system}/run{run}/{set}.json", systems=PAPER_ROWS.values(), set=SETS),
        order=results("evaluation/order/{set}.json", set=SETS),
        networks="results/{experiment}/report/networks.csv",
        phrase_table="results/{experiment}/phrases/table",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
        target_shortlist=f"results/{{experiment}}/shortlist/shortlist.{TARGET}.tsv",
        perplexity=[f"results/{{experiment}}/training/{network}/perplexity.json" for network in CSLMS[:1]],
    output:
        csv_output="results/{experiment}/report/paper_order.csv",
        markdown_output="results/{experiment}/report/paper_order.md",
    log:
        "results/{experiment}/logs/write_paper_order.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_paper_order.tsv"
    conda:
        "../../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
        runtime="1h",
    params:
        **step("report.cho2014:write_paper_order"),
        rows=PAPER_ROWS,
        scores=lambda wildcards: score_files(wildcards.experiment),
        sets=SETS,
        remarks=config["report"]["remarks"],
        title=f"The order of Cho et al. (2014) and that of {config['experiment']}",
    script:
        "../../workflow_scripts/run_step.py"


rule write_joint_tables:
    """Write the experiment beside the tables of Auli et al. (2013), and draw their Figure 3."""
    input:
        depends=[path for files in joint_files().values() for path in listed_paths(files)],
    output:
        csv_output="results/{experiment}/report/joint.csv",
        markdown_output="results/{experiment}/report/joint.md",
        plot="results/{experiment}/report/joint.png",
    log:
        "results/{experiment}/logs/write_joint_tables.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_joint_tables.tsv"
    conda:
        "../../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
        runtime="1h",
    params:
        **step("report.auli2013:write_joint_tables"),
        scores=lambda wildcards: joint_files()["scores"],
        significance=lambda wildcards: joint_files()["significance"],
        perplexities=lambda wildcards: joint_files()["perplexities"],
        choices=lambda wildcards: joint_files()["choices"],
        searches=lambda wildcards: joint_files()["searches"],
        oracles=lambda wildcards: joint_files()["oracles"],
        remarks=config["report"]["remarks"],
        title=f"The tables of Auli et al. (2013) and {EXPERIMENT}",
    script:
        "../../workflow_scripts/run_step.py"


rule write_classes_table:
    """Write the table of word classes: what each computes for a word, and the perplexity of a model with them."""
    input:
        depends=[path for model in class_files().values() for path in model["files"].values()],
    output:
        csv_output="results/{experiment}/report/classes.csv",
        markdown_output="results/{experiment}/report/classes.md",
    log:
        "results/{experiment}/logs/write_classes_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_classes_table.tsv"
    localrule: True
    conda:
        "../../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        **step("report.networks:write_classes_table"),
        networks={name: {"classes": model["classes"], **model["files"]} for name, model in class_files().items()},
        sets=SETS,
        title=f"Word classes of {EXPERIMENT}",
    script:
        "../../workflow_scripts/run_step.py"


rule write_attention_tables:
    """Write the experiment beside the tables of Mi et al. (2016), and draw their Figure 2."""
    input:
        depends=lambda wildcards: listed_paths(attention_files()),
    output:
        csv_output="results/{experiment}/report/attention.csv",
        markdown_output="results/{experiment}/report/attention.md",
        plot="results/{experiment}/report/attention.png",
    log:
        "results/{experiment}/logs/write_attention_tables.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_attention_tables.tsv"
    conda:
        "../../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
        runtime="1h",
    params:
        **step("report.mi2016:write_attention_tables"),
        systems=attention_rows(),
        scores=lambda wildcards: attention_files()["scores"],
        significance=lambda wildcards: attention_files()["significance"],
        translations=lambda wildcards: attention_files()["translations"],
        curves=lambda wildcards: {
            name: files | {"keep": NETWORK_SETTINGS[name]["keep"]}
            for name, files in attention_files()["curves"].items()
        },
        epochs=lambda wildcards: attention_files()["epochs"],
        coverage=lambda wildcards: attention_files()["coverage"],
        remarks=config["report"]["remarks"],
        title=f"The tables of Mi et al. (2016) and {EXPERIMENT}",
    script:
        "../../workflow_scripts/run_step.py"
