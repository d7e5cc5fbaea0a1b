rule show_page:
    """Bind figures and tables into a page of the report, with what is to know of them."""
    input:
        figures=page_files("figures"),
        tables=page_files("tables"),
    output:
        output=report(
            "results/{experiment}/report/pages/{page}.html",
            caption="report/page.rst",
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
    resources:
        mem_mb=memory(1),
        runtime="1h",
    params:
        **step("report.pages:show_page"),
        title=lambda wildcards: PAGES[wildcards.page]["title"],
        about=lambda wildcards: caption_text(PAGES[wildcards.page]["caption"]),
    script:
        "../workflow_scripts/run_step.py"


rule report:
    """Tables and figures; `snakemake --report` binds them into one page."""
    input:
        results("report/pages/{page}.html", page=PAGES),
        results("report/translations.{set}.html", set=SHOWN_SETS),
        results("report/lattices.html") if SEARCHED else [],
        results("report/attention_weights.html") if TRANSLATED else [],
        results("report/alignments.html"),
        rules.analysis.input if NETWORKS else [],
