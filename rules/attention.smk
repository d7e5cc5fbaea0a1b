"""What the rules of attention networks share: their vocabularies, what they are trained and measured with."""

ATTENTION_NETWORKS = used_networks(config, "attention")
LEARNING_CURVES = [name for name in ATTENTION_NETWORKS if NETWORK_SETTINGS[name]["learning_curve"]]
SENTENCE_VOCABULARIES = sentence_vocabularies(config)


def sentence_sets(network, vocabulary, text):
    """The target vocabularies of a text's sentences for a network; nothing where it takes all words."""
    return optional(LAYOUT.sentence_sets(network, vocabulary, text))


def attention_translation_inputs(wildcards):
    """What a system that is an attention network translates a set with."""
    chosen = SYSTEMS[wildcards.system]["translate"]
    network = chosen["network"]
    return {
        "text": candidate_text(wildcards.set, SOURCE),
        "model": LAYOUT.network(network),
        "candidates": sentence_sets(network, translating_words(config, wildcards.system), wildcards.set),
        **(LAYOUT.dictionary if chosen["replace_unknown"] else {}),
    }


def epoch_inputs(wildcards):
    """What the BLEU of every epoch of a network is measured with."""
    dev = CORPUS["dev"]
    folder = f"results/{EXPERIMENT}/training/{wildcards.network}"
    vocabulary = NETWORK_SETTINGS[wildcards.network]["vocabulary"]
    return {
        "epochs": f"{folder}/epochs",
        "curve": f"{folder}/curve.csv",
        "text": candidate_text(dev, SOURCE),
        "reference": candidate_text(dev, TARGET),
        "candidates": sentence_sets(wildcards.network, vocabulary, dev),
    }


def need_attention_rows():
    """Nothing, where some system is an attention network; else say what is missing."""
    if not TRANSLATED:
        raise WorkflowError(
            f"experiment {EXPERIMENT}: no system is an attention network; take --configfile experiments/multi30k_nmt.yaml "
            "or give a system a 'translate'"
        )
    return []
