"""What the systems make of single sentences."""


rule show_translations:
    """Show sentences that the systems translate differently, side by side."""
    input:
        source=lambda wildcards: raw_text(wildcards.set, SOURCE),
        reference=lambda wildcards: raw_text(wildcards.set, TARGET),
        depends=expand("results/{{experiment}}/evaluation/{system}/run1/{{set}}.txt", system=SYSTEMS),
    output:
        output=report(
            "results/{experiment}/report/translations.{set}.html",
            caption="translations.rst",
            category="Translations",
            labels={"set": "{set}"},
        ),
    log:
        "results/{experiment}/logs/show_translations.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/report/show_translations.{set}.tsv"
    localrule: True
    conda:
        "../../envs/neural_smt.yaml"
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
        "../../workflow_scripts/report.py"
