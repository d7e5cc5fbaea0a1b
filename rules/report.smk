"""The tables, figures and pages of the report, from files that `neural_smt.report.files` names."""

PAGES = FILES.pages()


rule write_table:
    """Write the table of systems: BLEU on every set, mean and spread over runs, significance."""
    input:
        depends=listed_paths(FILES.scores(), FILES.significance()),
    output:
        csv_output="results/{experiment}/report/table1.csv",
        markdown_output="results/{experiment}/report/table1.md",
    log:
        "results/{experiment}/logs/write_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_table.tsv"
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.scores:write_table"),
        scores=FILES.scores(),
        significance=FILES.significance(),
        labels=FILES.labels,
        ours=FILES.ours,
        oracles=FILES.oracles,
        title=FILES.heading("systems"),
    script:
        "../workflow_scripts/run_step.py"


rule plot_scores:
    """Draw BLEU of every system and run."""
    input:
        depends=listed_paths(FILES.scores()),
    output:
        plot="results/{experiment}/report/bleu.png",
    log:
        "results/{experiment}/logs/plot_scores.log",
    benchmark:
        "results/{experiment}/benchmarks/report/plot_scores.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.scores:plot_scores"),
        scores=FILES.scores(),
        labels=FILES.labels,
        title=FILES.heading("systems"),
    script:
        "../workflow_scripts/run_step.py"


use rule write_table as write_data_table with:
    """Write the table of data: selected pairs beside all of the pool and a random draw of it."""
    input:
        depends=listed_paths(FILES.data_files(), FILES.scores(FILES.data_files()), FILES.significance()),
    output:
        csv_output="results/{experiment}/report/data.csv",
        markdown_output="results/{experiment}/report/data.md",
    log:
        "results/{experiment}/logs/write_data_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_data_table.tsv"
    resources:
        mem_mb=memory(2),
    params:
        data=FILES.data_files(),
        title=FILES.heading("data"),


use rule write_table as write_training_table with:
    """Write the table of systems that differ in how long their network was trained."""
    input:
        depends=listed_paths(FILES.training_files(), FILES.scores(FILES.training_files()), FILES.significance()),
    output:
        csv_output="results/{experiment}/report/training.csv",
        markdown_output="results/{experiment}/report/training.md",
    log:
        "results/{experiment}/logs/write_training_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_training_table.tsv"
    params:
        training=FILES.training_files(),
        title=FILES.heading("training"),


rule plot_training:
    """Draw BLEU against how long a network was trained."""
    input:
        table="results/{experiment}/report/training.csv",
    output:
        plot="results/{experiment}/report/training.png",
    log:
        "results/{experiment}/logs/plot_training.log",
    benchmark:
        "results/{experiment}/benchmarks/report/plot_training.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.scores:plot_training"),
    script:
        "../workflow_scripts/run_step.py"


rule write_networks_table:
    """Write the table of networks: size, training, speed."""
    input:
        depends=listed_paths(FILES.network_files()),
    output:
        csv_output="results/{experiment}/report/networks.csv",
        markdown_output="results/{experiment}/report/networks.md",
    log:
        "results/{experiment}/logs/write_networks_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_networks_table.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.networks:write_networks_table"),
        networks=FILES.network_files(),
        title=FILES.heading("networks"),
    script:
        "../workflow_scripts/run_step.py"


rule write_cho2014_table:
    """Write the systems beside Table 1 of Cho et al. (2014), with what may explain another order."""
    input:
        depends=listed_paths(FILES.scores(FILES.paper_rows().values())),
        order=results("evaluation/order/{set}.json", set=SETS),
        networks="results/{experiment}/report/networks.csv",
        phrase_table="results/{experiment}/phrases/table",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
        target_shortlist=f"results/{{experiment}}/shortlist/shortlist.{TARGET}.tsv",
        perplexity=[f"results/{{experiment}}/training/{network}/perplexity.json" for network in CSLMS[:1]],
    output:
        csv_output="results/{experiment}/report/cho2014.csv",
        markdown_output="results/{experiment}/report/cho2014.md",
    log:
        "results/{experiment}/logs/write_cho2014_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_cho2014_table.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
    params:
        **step("report.cho2014:write_cho2014_table"),
        rows=FILES.paper_rows(),
        scores=FILES.scores(),
        sets=SETS,
        remarks=config["report"]["remarks"],
        title=FILES.heading("table1_cho2014"),
    script:
        "../workflow_scripts/run_step.py"


rule write_joint_tables:
    """Write the experiment beside the tables of Auli et al. (2013), and draw their Figure 3."""
    input:
        depends=listed_paths(FILES.joint()),
    output:
        csv_output="results/{experiment}/report/joint.csv",
        markdown_output="results/{experiment}/report/joint.md",
        plot="results/{experiment}/report/joint.png",
    log:
        "results/{experiment}/logs/write_joint_tables.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_joint_tables.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
    params:
        **step("report.auli2013:write_joint_tables"),
        files=FILES.joint(),
        remarks=config["report"]["remarks"],
        title=FILES.heading("tables_auli2013"),
    script:
        "../workflow_scripts/run_step.py"


rule write_classes_table:
    """Write the table of word classes: what each computes for a word, and the perplexity of a model with them."""
    input:
        depends=listed_paths(FILES.classes()),
    output:
        csv_output="results/{experiment}/report/classes.csv",
        markdown_output="results/{experiment}/report/classes.md",
    log:
        "results/{experiment}/logs/write_classes_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_classes_table.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.networks:write_classes_table"),
        networks=FILES.classes(),
        sets=SETS,
        title=FILES.heading("classes"),
    script:
        "../workflow_scripts/run_step.py"


rule write_attention_tables:
    """Write the experiment beside the tables of Mi et al. (2016), and draw their Figure 2."""
    input:
        depends=listed_paths(FILES.attention()),
    output:
        csv_output="results/{experiment}/report/attention.csv",
        markdown_output="results/{experiment}/report/attention.md",
        plot="results/{experiment}/report/attention.png",
    log:
        "results/{experiment}/logs/write_attention_tables.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_attention_tables.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
    params:
        **step("report.mi2016:write_attention_tables"),
        files=FILES.attention(),
        remarks=config["report"]["remarks"],
        title=FILES.heading("tables_mi2016"),
    script:
        "../workflow_scripts/run_step.py"


rule plot_tuning:
    """Draw development BLEU over the iterations of MERT."""
    input:
        depends=listed_paths(FILES.histories()),
    output:
        plot="results/{experiment}/report/tuning.png",
    log:
        "results/{experiment}/logs/plot_tuning.log",
    benchmark:
        "results/{experiment}/benchmarks/report/plot_tuning.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.scores:plot_tuning"),
        histories=FILES.histories(),
        labels=FILES.labels,
    script:
        "../workflow_scripts/run_step.py"


rule summarise_benchmarks:
    """Sum up what each stage cost in time and memory."""
    input:
        benchmarks=FILES.benchmarks(),
    output:
        output="results/{experiment}/report/costs.csv",
        plot="results/{experiment}/report/costs.png",
    log:
        "results/{experiment}/logs/summarise_benchmarks.log",
    benchmark:
        "results/{experiment}/benchmarks/report/summarise_benchmarks.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.costs:summarise_benchmarks"),
    script:
        "../workflow_scripts/run_step.py"


rule write_scaling_table:
    """Show how time and memory grow with the number of sentence pairs."""
    input:
        depends=listed_paths(FILES.scaling()),
    output:
        output="results/{experiment}/report/scaling.csv",
        plot="results/{experiment}/report/scaling.png",
    log:
        "results/{experiment}/logs/write_scaling_table.log",
    benchmark:
        "results/{experiment}/benchmarks/report/write_scaling_table.tsv"
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.costs:write_scaling_table"),
        benchmarks=FILES.scaling(),
    script:
        "../workflow_scripts/run_step.py"


rule show_page:
    """Bind figures and tables into a page of the report, with what is to know of them."""
    input:
        figures=lambda wildcards: results("{file}", file=PAGES[wildcards.page]["figures"]),
        tables=lambda wildcards: results("{file}", file=PAGES[wildcards.page]["tables"]),
    output:
        output=report(
            "results/{experiment}/report/pages/{page}.html",
            caption="report/caption.rst",
            category=lambda wildcards: PAGES[wildcards.page]["part"],
            labels=lambda wildcards: {"page": PAGES[wildcards.page]["title"]},
        ),
    log:
        "results/{experiment}/logs/show_page.{page}.log",
    benchmark:
        "results/{experiment}/benchmarks/report/show_page.{page}.tsv"
    wildcard_constraints:
        page=one_of(PAGES),
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.pages:show_page"),
        title=lambda wildcards: PAGES[wildcards.page]["title"],
        about=lambda wildcards: PAGES[wildcards.page]["about"],
    script:
        "../workflow_scripts/run_step.py"


use rule show_page as show_start with:
    """The main table and figure, on which Snakemake's report opens."""
    input:
        figures="results/{experiment}/report/bleu.png",
        tables="results/{experiment}/report/table1.md",
    output:
        output="results/{experiment}/report/start.html",
    log:
        "results/{experiment}/logs/show_start.log",
    benchmark:
        "results/{experiment}/benchmarks/report/show_start.tsv"
    localrule: True
    params:
        title="BLEU",
        about="",
        template="start.html",


rule report:
    """Tables and figures; `snakemake --report` binds them into one page."""
    input:
        results("report/start.html"),
        results("report/pages/{page}.html", page=PAGES),
        results("report/translations.{set}.html", set=CORPUS["test"]),
        results("report/lattices.html") if SEARCHED else [],
        results("report/attention_weights.html") if TRANSLATED else [],
        results("report/alignments.html"),
        rules.analysis.input if NETWORKS else [],
