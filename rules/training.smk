rule train_encoder_decoder:
    """Train the RNN encoder-decoder on the distinct phrase pairs of the table (Cho et al. 2014)."""
    input:
        phrase_table="results/{experiment}/phrases/table",
        source_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
        source_shortlist=f"results/{{experiment}}/shortlist/shortlist.{SOURCE}.tsv",
        target_shortlist=f"results/{{experiment}}/shortlist/shortlist.{TARGET}.tsv",
    output:
        output=directory("results/{experiment}/training/encoder_decoder/model"),
        curve=report(
            "results/{experiment}/training/encoder_decoder/curve.csv",
            caption="report/learning_curve.rst",
            category="Networks",
            labels={"network": "encoder-decoder", "what": "table"},
        ),
        plot=report(
            "results/{experiment}/training/encoder_decoder/curve.png",
            caption="report/learning_curve.rst",
            category="Networks",
            labels={"network": "encoder-decoder", "what": "learning curve"},
        ),
    log:
        "results/{experiment}/logs/train_encoder_decoder.log",
    benchmark:
        "results/{experiment}/benchmarks/training/train_encoder_decoder.tsv"
    conda:
        "../envs/neural_smt.yaml"
    threads: 2
    resources:
        mem_mb=memory(8),
        runtime="72h",
        gpu=USES_GPU,
    params:
        code=code("training.steps"),
        settings=config["training"]["encoder_decoder"],
        seed=config["seed"],
        # not an output: a killed run finds its state there and goes on
        state=lambda wildcards: f"results/{wildcards.experiment}/training/encoder_decoder/state",
    script:
        "../workflow_scripts/training.py"


rule training:
    """All networks of the experiment."""
    input:
        results("training/{network}/model", network=NETWORKS),
