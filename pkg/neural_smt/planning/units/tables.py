"""Units of work of what is counted from text: alignments, phrase tables, language models, vocabularies."""

from neural_smt.declared_networks import joint_inputs, sentence_vocabularies
from neural_smt.planning.experiment import Experiment
from neural_smt.planning.jobs import Job
from neural_smt.planning.sizes import Text
from neural_smt.planning.units.sharing import Counter, Units
from neural_smt.vocabulary_selection.settings import PIECE


def aligned(job: Job, x: Experiment) -> Units:
    """Cells of the sentences' tables times iterations, and words; gold sets are a trifle beside the training text."""
    text = x.sizes.data[x.data(job)]
    section = x.config["alignment"]
    if section["aligner"] == "fast_align":
        passes = float(section["fast_align"]["iterations"])
    else:
        passes = section["eflomal"]["samplers"] * section["eflomal"]["length"] * 10
    read, written = text.words[x.sizes.source], text.words[x.sizes.target]
    cells = read * written / text.lines if text.lines else 0.0
    return {"cells": cells * passes, "words": text.both, "text": written}


def data_words(job: Job, x: Experiment) -> Units:
    """Words of both sides of the training pairs, and distinct ones."""
    return {"words": x.sizes.data[x.data(job)].both, "types": sum(x.sizes.types.values())}


def built_table(job: Job, x: Experiment) -> Units:
    """Rows of the phrase table: held at once, and worked on; of merged parts the index alone, and some work."""
    rows = x.sizes.rows[x.data(job)]
    if x.config["shards"] > 1:
        return {"rows": INDEX * rows, "worked rows": MERGED * rows}
    return {"rows": rows, "worked rows": rows}


def extracted_shard(share: float) -> Counter:
    """Of a step that does this share of the work, in shards: the rows of a shard, and that work."""

    def counted(job: Job, x: Experiment) -> Units:
        rows = x.sizes.rows[x.data(job)] / x.config["shards"]
        return {"rows": rows, "worked rows": share * rows}

    return counted


INDEX = 0.03
"""Of the bytes a row that a table built at once needs, those of the slots of its index."""

MERGED = 0.2
"""Of the work of building a table, that of merging its parts."""


def estimated(job: Job, x: Experiment) -> Units:
    """Words of a language model's text times its order, as many as its memory holds, and n-grams."""
    data, section = x.data(job), x.config["language_model"]
    words = x.sizes.language_model_words(data) * section["order"]
    held = min(words, _bytes(section["memory"]) / HELD)
    return {"words": words, "held words": held, "n-grams": x.sizes.ngrams[data] * section["order"] / 5}


HELD = 45.0
"""Bytes of an n-gram while a language model is estimated."""


def _bytes(amount: str) -> float:
    """What a setting of memory says; shares of the machine's hold everything."""
    scale = {"b": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    return float(amount[:-1]) * scale[amount[-1]] if amount[-1] in scale else float("inf")


def measured_model(job: Job, x: Experiment) -> Units:
    """n-grams of the model, which are read."""
    return {"n-grams": x.sizes.ngrams[x.data(job)]}


def network_words(job: Job, x: Experiment) -> Units:
    """Words of one side of the training text."""
    return {"words": x.sizes.data["selected"].words[job.wildcards["language"]]}


def candidates(job: Job, x: Experiment) -> Units:
    """Words of the text and of a piece of it, and rows of the phrase table where it is asked."""
    text = x.text(job.wildcards["text"])
    chosen = sentence_vocabularies(x.config)[job.wildcards["sets"]]
    words = text.words[x.sizes.source]
    return {
        "words": words,
        "held words": _held(text, x),
        "dictionary words": words * (chosen["dictionary"] > 0),
        "phrases' words": words * (chosen["phrases"] > 0),
        "rows": x.sizes.rows["selected"] * (chosen["phrases"] > 0),
    }


def covered(job: Job, x: Experiment) -> Units:
    """Words of all texts, for every part of the vocabularies that coverage is measured of."""
    texts = [x.text(name) for name in ("train", *x.sets)]
    words = sum(text.words[x.sizes.source] for text in texts)
    held = max(_held(text, x) for text in texts)
    parts = len(x.config["vocabulary_selection"]["dictionary_sizes"]) + 2
    return {"words": words * parts, "text": words, "held words": held, "rows": x.sizes.rows["selected"]}


def _held(text: Text, x: Experiment) -> float:
    """Source words of a piece of a text, whose target vocabularies are held together."""
    return text.words[x.sizes.source] * min(PIECE / max(text.lines, 1), 1.0)


def represented(job: Job, x: Experiment) -> Units:
    """Words times dimensions of what joint models read."""
    declared = joint_inputs(x.config)[job.wildcards["network"]]
    words = x.sizes.data["selected"].both
    analysed = declared["kind"] in ("sentence_lsa", "projected_lsa", "word_lsa")
    projected = declared["kind"] == "projected_lsa"
    return {
        "words": words,
        "dimensions": words * declared["dimensions"] * analysed,
        "projections": words * declared["dimensions"] * projected,
    }


def counted_unknown(job: Job, x: Experiment) -> Units:
    """Rows of the table."""
    return {"rows": x.sizes.rows["selected"]}


def rows(job: Job, x: Experiment) -> Units:
    """Rows of the phrase table, which analyses read."""
    return {"rows": x.sizes.rows["selected"]}


def exported(job: Job, x: Experiment) -> Units:
    """Rows of the phrase table and n-grams of the language model, written as text."""
    return {"rows": x.sizes.rows[x.data(job)], "n-grams": x.sizes.ngrams[x.data(job)]}
