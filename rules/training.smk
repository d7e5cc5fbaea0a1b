# what is left of the training of a network that has a name
TRAINED = {
    "output": directory("results/{experiment}/training/{network}/model"),
    "curve": "results/{experiment}/training/{network}/curve.csv",
    "plot": "results/{experiment}/training/{network}/curve.png",
}


rule train_encoder_decoder:
    """Train an RNN encoder-decoder on the distinct phrase pairs of the table (Cho et al. 2014)."""
    input:
        phrase_table="results/{experiment}/phrases/table",
        source_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{SOURCE}.tsv",
        target_vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
        source_shortlist=f"results/{{experiment}}/shortlist/shortlist.{SOURCE}.tsv",
        target_shortlist=f"results/{{experiment}}/shortlist/shortlist.{TARGET}.tsv",
    output:
        **TRAINED,
    log:
        "results/{experiment}/logs/train_encoder_decoder.{network}.log",
    benchmark:
        "results/{experiment}/benchmarks/training/train_encoder_decoder.{network}.tsv"
    wildcard_constraints:
        network=one_of(NETWORKS),
    conda:
        "../envs/neural_smt.yaml"
    threads: NETWORK_THREADS * PROCESSES
    resources:
        mem_mb=memory(8),
        runtime="72h",
        gpu=USES_GPU * PROCESSES,
    params:
        **step("training.steps:train_encoder_decoder"),
        settings=lambda wildcards: training_settings(config, wildcards.network),
        title=lambda wildcards: f"RNN encoder-decoder ({wildcards.network})",
        seed=config["seed"],
        # not an output: a killed run finds its state there and goes on
        state=lambda wildcards: f"results/{wildcards.experiment}/training/{wildcards.network}/state",
    script:
        "../workflow_scripts/run_step.py"


rule train_cslm:
    """Train the feed-forward language model on the target side of the training text (Cho et al. 2014)."""
    input:
        texts=[f"results/{{experiment}}/selection/train.{TARGET}"],
        vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
        shortlist=f"results/{{experiment}}/shortlist/shortlist.{TARGET}.tsv",
    output:
        **TRAINED,
        perplexity="results/{experiment}/training/{network}/held_out.json",
    log:
        "results/{experiment}/logs/train_cslm.{network}.log",
    benchmark:
        "results/{experiment}/benchmarks/training/train_cslm.{network}.tsv"
    wildcard_constraints:
        network=one_of(CSLMS),
    conda:
        "../envs/neural_smt.yaml"
    threads: NETWORK_THREADS * PROCESSES
    resources:
        mem_mb=memory(8),
        runtime="72h",
        gpu=USES_GPU * PROCESSES,
    params:
        **step("training.steps:train_cslm"),
        settings=lambda wildcards: training_settings(config, wildcards.network),
        seed=config["seed"],
        # not an output: a killed run finds its state there and goes on
        state=lambda wildcards: f"results/{wildcards.experiment}/training/{wildcards.network}/state",
    script:
        "../workflow_scripts/run_step.py"


rule measure_cslm:
    """Compare the CSLM's perplexity of the development set with that of the n-gram model beside it."""
    input:
        model="results/{experiment}/training/{network}/model",
        language_model="results/{experiment}/language_model/model",
        vocabulary=f"results/{{experiment}}/corpus/vocabulary.{TARGET}.tsv",
        texts=tokenised([CORPUS["dev"]], TARGET),
    output:
        output="results/{experiment}/training/{network}/perplexity.json",
    log:
        "results/{experiment}/logs/measure_cslm.{network}.log",
    benchmark:
        "results/{experiment}/benchmarks/training/measure_cslm.{network}.tsv"
    wildcard_constraints:
        network=one_of(CSLMS),
    conda:
        "../envs/neural_smt.yaml"
    threads: 2
    resources:
        mem_mb=memory(8),
        runtime="4h",
        gpu=USES_GPU,
    params:
        **step("training.steps:measure_cslm"),
        precision=lambda wildcards: NETWORK_SETTINGS[wildcards.network]["precision"],
    script:
        "../workflow_scripts/run_step.py"


rule train_recurrent:
    """Train a recurrent language model, or a joint one that reads the source (Auli et al. 2013)."""
    input:
        unpack(joint_training_inputs),
        texts=lambda wildcards: [
            f"results/{wildcards.experiment}/selection/train.{recurrent_language(wildcards.network)}"
        ],
    output:
        **TRAINED,
        perplexity="results/{experiment}/training/{network}/held_out.json",
    log:
        "results/{experiment}/logs/train_recurrent.{network}.log",
    benchmark:
        "results/{experiment}/benchmarks/training/train_recurrent.{network}.tsv"
    wildcard_constraints:
        network=one_of(RECURRENT),
    conda:
        "../envs/neural_smt.yaml"
    threads: PROCESSES
    resources:
        mem_mb=memory(8),
        runtime="72h",
        gpu=USES_GPU * PROCESSES,
    params:
        **step("training.recurrent_steps:train_recurrent"),
        settings=lambda wildcards: training_settings(config, wildcards.network),
        title=lambda wildcards: f"Recurrent model ({wildcards.network})",
        seed=config["seed"],
        # not an output: a killed run finds its state there and goes on
        state=lambda wildcards: f"results/{wildcards.experiment}/training/{wildcards.network}/state",
    script:
        "../workflow_scripts/run_step.py"


rule measure_recurrent:
    """Measure a recurrent model's perplexity of the dev and test sets beside that of an n-gram model."""
    input:
        unpack(joint_measuring_inputs),
        model="results/{experiment}/training/{network}/model",
        training=[f"results/{{experiment}}/selection/train.{TARGET}"],
        texts=tokenised(SETS, TARGET),
    output:
        output="results/{experiment}/training/{network}/perplexity.json",
    log:
        "results/{experiment}/logs/measure_recurrent.{network}.log",
    benchmark:
        "results/{experiment}/benchmarks/training/measure_recurrent.{network}.tsv"
    wildcard_constraints:
        network=one_of([name for name in RECURRENT if not predicts_source(config, name)]),
    conda:
        "../envs/neural_smt.yaml"
    resources:
        mem_mb=memory(8),
        runtime="4h",
        gpu=USES_GPU,
    params:
        **step("training.recurrent_steps:measure_recurrent"),
        precision=lambda wildcards: NETWORK_SETTINGS[wildcards.network]["precision"],
        order=lambda wildcards: NETWORK_SETTINGS[wildcards.network]["ngram_order"],
    script:
        "../workflow_scripts/run_step.py"


rule train_attention:
    """Train an attention network on the selected pairs (Mi et al. 2016)."""
    input:
        unpack(attention_training_inputs),
    output:
        **TRAINED,
    log:
        "results/{experiment}/logs/train_attention.{network}.log",
    benchmark:
        "results/{experiment}/benchmarks/training/train_attention.{network}.tsv"
    wildcard_constraints:
        network=one_of([name for name in ATTENTION_NETWORKS if name not in LEARNING_CURVES]),
    conda:
        "../envs/neural_smt.yaml"
    threads: ATTENTION_THREADS * PROCESSES
    resources:
        mem_mb=memory(8),
        runtime="240h",
        gpu=USES_GPU * PROCESSES,
    params:
        **step("training.attention_steps:train_attention"),
        settings=lambda wildcards: training_settings(config, wildcards.network),
        title=lambda wildcards: f"Attention network ({wildcards.network})",
        seed=config["seed"],
        # not an output: a killed run finds its state there and goes on
        state=lambda wildcards: f"results/{wildcards.experiment}/training/{wildcards.network}/state",
    script:
        "../workflow_scripts/run_step.py"


# the same, with the weights of every epoch kept
use rule train_attention as train_attention_by_epoch with:
    output:
        **TRAINED,
        epochs=directory("results/{experiment}/training/{network}/epochs"),
    wildcard_constraints:
        network=one_of(LEARNING_CURVES),


rule training:
    """All networks of the experiment."""
    input:
        results("training/{network}/model", network=NETWORKS),
        results("training/{network}/{file}", network=CSLMS, file=["model", "perplexity.json"]),
        results("training/{network}/model", network=[*RECURRENT, *ATTENTION_NETWORKS]),
