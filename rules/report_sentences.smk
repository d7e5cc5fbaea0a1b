"""What the systems make of single sentences."""


rule choose_sentences:
    """Draw sentences that the systems translate differently, and one to draw."""
    input:
        source=f"results/{{experiment}}/corpus/tokenised/{{set}}.{SOURCE}",
        depends=expand("results/{{experiment}}/evaluation/{system}/run1/{{set}}.txt", system=SYSTEMS),
    output:
        output="results/{experiment}/report/sentences/{set}.json",
    log:
        "results/{experiment}/logs/choose_sentences.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/report/choose_sentences.{set}.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.translations:choose_sentences"),
        systems=lambda wildcards: FILES.first_translations(wildcards.set),
        sentences=30,
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


rule explain_sentences:
    """Translate a few sentences again with a system, and tell how it is done: phrases, links, attention, a lattice."""
    input:
        text=f"results/{{experiment}}/corpus/tokenised/{{set}}.{SOURCE}",
        chosen="results/{experiment}/report/sentences/{set}.json",
        system="results/{experiment}/systems/{system}/system.json",
        # made after all that the system is made of
        depends="results/{experiment}/decoding/{system}/run1/{set}.hypothesis",
    output:
        output="results/{experiment}/report/sentences/{set}.{system}.json",
    log:
        "results/{experiment}/logs/explain_sentences.{set}.{system}.log",
    benchmark:
        "results/{experiment}/benchmarks/report/explain_sentences.{set}.{system}.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="2h",
        turn=1,
        gpu=INPUTS.gpus,
    params:
        **step("report.explaining:explain_sentences", INPUTS.scorers),
        run=1,
    script:
        "../workflow_scripts/run_step.py"


rule show_translations:
    """Show sentences that the systems translate differently, side by side, and the phrases they are made of."""
    input:
        source=lambda wildcards: INPUTS.raw_text(wildcards.set, SOURCE),
        reference=lambda wildcards: INPUTS.raw_text(wildcards.set, TARGET),
        chosen="results/{experiment}/report/sentences/{set}.json",
        depends=lambda wildcards: [
            *listed_paths(FILES.explanations(FILES.explained, wildcards.set)),
            *listed_paths(FILES.first_translations(wildcards.set)),
        ],
    output:
        output=report(
            "results/{experiment}/report/translations.{set}.html",
            caption="report/caption.rst",
            category=FILES.part(EVERY_PAGE["translations"]["part"]),
            labels={"page": EVERY_PAGE["translations"]["title"]},
        ),
    log:
        "results/{experiment}/logs/show_translations.{set}.log",
    benchmark:
        "results/{experiment}/benchmarks/report/show_translations.{set}.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.translations:show_translations"),
        systems=lambda wildcards: {
            FILES.labels[system]: path for system, path in FILES.first_translations(wildcards.set).items()
        },
        explanations=lambda wildcards: FILES.explanations(FILES.explained, wildcards.set),
        languages=config["languages"],
        about=EVERY_PAGE["translations"]["about"],
    script:
        "../workflow_scripts/run_step.py"


rule show_lattices:
    """Draw the lattice of a sentence, for each system that searches phrases."""
    input:
        depends=listed_paths(FILES.drawn(SEARCHED)),
    output:
        output=report(
            "results/{experiment}/report/lattices.html",
            caption="report/caption.rst",
            category=FILES.part(EVERY_PAGE["translations"]["part"]),
            labels={"page": EVERY_PAGE["lattices"]["title"]},
        ),
    log:
        "results/{experiment}/logs/show_lattices.log",
    benchmark:
        "results/{experiment}/benchmarks/report/show_lattices.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.drawings:show_lattices"),
        explanations=FILES.drawn(SEARCHED),
        about=EVERY_PAGE["lattices"]["about"],
    script:
        "../workflow_scripts/run_step.py"


use rule show_lattices as show_attention with:
    """Draw what attention networks look at while they write a sentence."""
    input:
        depends=listed_paths(FILES.drawn(TRANSLATED)),
    output:
        output=report(
            "results/{experiment}/report/attention_weights.html",
            caption="report/caption.rst",
            category=FILES.part(EVERY_PAGE["translations"]["part"]),
            labels={"page": EVERY_PAGE["attention_weights"]["title"]},
        ),
    log:
        "results/{experiment}/logs/show_attention.log",
    benchmark:
        "results/{experiment}/benchmarks/report/show_attention.tsv"
    localrule: True
    params:
        **step("report.drawings:show_attention"),
        explanations=FILES.drawn(TRANSLATED),
        languages=config["languages"],
        about=EVERY_PAGE["attention_weights"]["about"],


rule show_alignments:
    """Draw the word alignments of a few sentence pairs, beside the right ones where these are known."""
    input:
        sources=FILES.aligned_text(SOURCE),
        targets=FILES.aligned_text(TARGET),
        forward=f"results/{{experiment}}/alignment/{'gold.' if CORPUS['gold'] else ''}forward.align",
        backward=f"results/{{experiment}}/alignment/{'gold.' if CORPUS['gold'] else ''}backward.align",
        gold=INPUTS.gold(),
    output:
        output=report(
            "results/{experiment}/report/alignments.html",
            caption="report/caption.rst",
            category=FILES.part(EVERY_PAGE["alignments"]["part"]),
            labels={"page": EVERY_PAGE["alignments"]["title"]},
        ),
    log:
        "results/{experiment}/logs/show_alignments.log",
    benchmark:
        "results/{experiment}/benchmarks/report/show_alignments.tsv"
    localrule: True
    conda:
        "../envs/neural_smt.yaml"
    params:
        **step("report.drawings:show_alignments"),
        turned=INPUTS.gold(turned=True),
        heuristic=config["alignment"]["heuristic"],
        pairs=6,
        seed=config["seed"],
        languages=config["languages"],
        about=EVERY_PAGE["alignments"]["about"],
    script:
        "../workflow_scripts/run_step.py"
