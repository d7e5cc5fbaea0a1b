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


def attention_files():
    """What the tables of attention networks are made from, by the names of the arguments of their step."""
    folder = f"results/{EXPERIMENT}"
    shown = [name for name in load_paper("mi2016.yaml").systems if name in SYSTEMS]
    translated = [name for name in shown if name in TRANSLATED]
    return {
        "scores": {name: files for name, files in score_files(EXPERIMENT).items() if name in shown},
        "significance": significance_files(EXPERIMENT),
        "translations": {
            name: {text: [f"{folder}/decoding/{name}/run1/{text}.json"] for text in SETS} for name in translated
        },
        "curves": {name: trained_files(name) for name in ATTENTION_NETWORKS},
        "epochs": {name: f"{folder}/training/{name}/epochs.csv" for name in LEARNING_CURVES},
        "coverage": f"{folder}/vocabularies/coverage.csv",
    }


def attention_rows():
    """How each system of these tables is made: its label, and of attention networks what they translate with."""
    rows = {name: {"label": labels()[name]} for name in load_paper("mi2016.yaml").systems if name in SYSTEMS}
    for name in rows:
        if chosen := translation(SYSTEMS[name]):
            vocabulary = translating_words(config, name)
            sizes = SENTENCE_VOCABULARIES.get(vocabulary, {})
            rows[name] |= {
                "network": chosen["network"],
                "vocabulary": vocabulary,
                "replace_unknown": chosen["replace_unknown"],
                "frequent": sizes.get("frequent"),
            }
    return rows


def need_attention_rows():
    """Nothing, where some system is an attention network; else say what is missing."""
    if not TRANSLATED:
        raise WorkflowError(
            f"experiment {EXPERIMENT}: no system is an attention network; take --configfile experiments/multi30k_nmt.yaml "
            "or give a system a 'translate'"
        )
    return []
