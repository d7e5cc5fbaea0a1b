rule show_phrases:
    """Show which target phrases translation model and network prefer, and samples (Tables 2 and 3)."""
    input:
        phrase_table="results/{experiment}/phrases/table",
        column="results/{experiment}/rescoring/extracted/encoder_decoder.safetensors",
        model="results/{experiment}/training/encoder_decoder/model",
        source_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
    output:
        preferences="results/{experiment}/analysis/preferences.csv",
        samples="results/{experiment}/analysis/samples.csv",
        page=report(
            "results/{experiment}/analysis/phrases.html",
            caption="report/caption.rst",
            category=FILES.part(EVERY_PAGE["map"]["part"]),
            labels={"page": EVERY_PAGE["phrases"]["title"]},
        ),
    log:
        "results/{experiment}/logs/show_phrases.log",
    benchmark:
        "results/{experiment}/benchmarks/analysis/show_phrases.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="4h",
    params:
        **step("analysis.phrase_tables:show_phrases"),
        about=EVERY_PAGE["phrases"]["about"],
        settings=config["analysis"],
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


rule plot_pair_scores:
    """Draw the network's scores of phrase pairs against the translation model's (Figure 3)."""
    input:
        phrase_table="results/{experiment}/phrases/table",
        column="results/{experiment}/rescoring/extracted/encoder_decoder.safetensors",
        source_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
    output:
        plot="results/{experiment}/analysis/pair_scores.png",
    log:
        "results/{experiment}/logs/plot_pair_scores.log",
    benchmark:
        "results/{experiment}/benchmarks/analysis/plot_pair_scores.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="4h",
    params:
        **step("analysis.plots:plot_pair_scores"),
        settings=config["analysis"],
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


rule embed_words:
    """Project the word embeddings to the plane by Barnes-Hut t-SNE."""
    input:
        model="results/{experiment}/training/encoder_decoder/model",
    output:
        output="results/{experiment}/analysis/words.csv",
    log:
        "results/{experiment}/logs/embed_words.log",
    benchmark:
        "results/{experiment}/benchmarks/analysis/embed_words.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(4),
        runtime="4h",
    params:
        **step("analysis.embedding:embed_words"),
        settings=config["analysis"],
        seed=config["seed"],
    script:
        "../workflow_scripts/run_step.py"


use rule embed_words as embed_phrases with:
    """Project the representations of long phrases to the plane by Barnes-Hut t-SNE."""
    input:
        phrase_table="results/{experiment}/phrases/table",
        model="results/{experiment}/training/encoder_decoder/model",
        source_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{SOURCE}.tsv",
    output:
        output="results/{experiment}/analysis/phrases.csv",
    log:
        "results/{experiment}/logs/embed_phrases.log",
    benchmark:
        "results/{experiment}/benchmarks/analysis/embed_phrases.tsv"
    params:
        **step("analysis.embedding:embed_phrases"),


rule plot_embedding:
    """Draw projected words or phrases, and their densest regions enlarged (Figures 4 and 5)."""
    input:
        points="results/{experiment}/analysis/{points}.csv",
    output:
        plot="results/{experiment}/analysis/{points}.png",
    log:
        "results/{experiment}/logs/plot_embedding.{points}.log",
    benchmark:
        "results/{experiment}/benchmarks/analysis/plot_embedding.{points}.tsv"
    wildcard_constraints:
        points="words|phrases",
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
        runtime="4h",
    params:
        **step("analysis.plots:plot_embedding"),
        title=lambda wildcards: f"Source {wildcards.points}",
        settings=config["analysis"],
    script:
        "../workflow_scripts/run_step.py"


rule show_map:
    """Write the page on which the projected words and phrases can be searched."""
    input:
        words="results/{experiment}/analysis/words.csv",
        phrases="results/{experiment}/analysis/phrases.csv",
    output:
        output=report(
            "results/{experiment}/analysis/map.html",
            caption="report/caption.rst",
            category=FILES.part(EVERY_PAGE["map"]["part"]),
            labels={"page": EVERY_PAGE["map"]["title"]},
        ),
    log:
        "results/{experiment}/logs/show_map.log",
    benchmark:
        "results/{experiment}/benchmarks/analysis/show_map.tsv"
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(2),
        runtime="4h",
    params:
        **step("analysis.maps:show_map"),
        about=EVERY_PAGE["map"]["about"],
        title=FILES.heading("map"),
    script:
        "../workflow_scripts/run_step.py"


rule analysis:
    """What the encoder-decoder has learnt: tables, figures and an interactive page."""
    input:
        results(
            "analysis/{name}",
            name=[
                "phrases.html",
                "preferences.csv",
                "samples.csv",
                "pair_scores.png",
                "words.png",
                "phrases.png",
                "map.html",
            ],
        ),
