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
