"""Units of work of what reads and writes text: the corpus and its selection."""

from collections.abc import Mapping

from neural_smt.corpus.archives import archive_name
from neural_smt.planning.experiment import Experiment
from neural_smt.planning.jobs import Job
from neural_smt.planning.units.sharing import Units
from neural_smt.planning.units.tables import HELD


def fetched(job: Job, x: Experiment) -> Units:
    """Words of what is fetched; to be downloaded where it is neither a path nor mirrored."""
    name = job.wildcards.get("source")
    if name is None:
        return _archive(job, x)
    side = x.config["corpus"]["sources"][name].get(job.wildcards["side"], {})
    words = x.sizes.sources[name].words.get(job.wildcards["side"], 0.0) if name in x.sizes.sources else 0.0
    return {"words": words, "downloaded words": 0.0 if "path" in side or x.config["data_mirror"] else words}


def _archive(job: Job, x: Experiment) -> Units:
    words = archive_words(x, job.wildcards["archive"])
    return {"words": words, "downloaded words": 0.0 if x.config["data_mirror"] else words}


def archive_words(x: Experiment, archive: str) -> float:
    """Words of all members of an archive that the experiment takes."""
    total = 0.0
    for name, text in x.sizes.sources.items():
        for language, words in text.words.items():
            side = x.config["corpus"]["sources"][name].get(language, {})
            if isinstance(side, Mapping) and "member" in side and archive_name(side) == archive:
                total += words
    return total


def extracted(job: Job, x: Experiment) -> Units:
    """Words of the archive, which is read to the member's end."""
    side = x.config["corpus"]["sources"][job.wildcards["source"]][job.wildcards["side"]]
    own = _source_words(job, x, job.wildcards["side"])
    return {"archive words": archive_words(x, archive_name(side)), "words": own}


def _source_words(job: Job, x: Experiment, language: str) -> float:
    text = x.sizes.sources.get(job.wildcards["source"])
    return text.words.get(language, 0.0) if text else 0.0


def joined_texts(job: Job, x: Experiment) -> Units:
    """Words of a side that is put together."""
    return {"words": _source_words(job, x, job.wildcards["side"])}


def generated(job: Job, x: Experiment) -> Units:
    """Pairs and lines that the grammar makes."""
    generator = x.config["corpus"]["generator"]
    return {"lines": sum(generator[part] for part in ("pairs", "in_domain", "dev", "test", "gold", "monolingual"))}


def checked(job: Job, x: Experiment) -> Units:
    """Words of all sources, which are read once."""
    return {"words": sum(text.both for text in x.sizes.sources.values())}


def tokenised(job: Job, x: Experiment) -> Units:
    """Words of one side, or of a shard of it; of a text that is tokenised already, none."""
    words = _source_words(job, x, job.wildcards["language"])
    words /= x.config["shards"] if job.wildcards.get("scatteritem") else 1
    done = x.config["corpus"]["sources"][job.wildcards["source"]]["tokenised"]
    return {"words": 0.0 if done else words, "text": words}


def cleaned(job: Job, x: Experiment) -> Units:
    """Words of all sources of a role, and of what is kept."""
    role = job.wildcards.get("role", "monolingual")
    names = x.config["corpus"][role]
    languages = (x.sizes.target,) if role == "monolingual" else (x.sizes.source, x.sizes.target)
    read = sum(x.sizes.sources[name].words[language] for name in names for language in languages)
    kept = {"train": x.sizes.pool, "in_domain": x.sizes.in_domain, "monolingual": x.sizes.monolingual}[role]
    return {"words": read, "text": kept.both}


def counted(job: Job, x: Experiment) -> Units:
    """Words of a language, and distinct ones."""
    language = job.wildcards["language"]
    texts = [x.sizes.pool, x.sizes.in_domain, x.sizes.monolingual]
    return {"words": sum(text.words.get(language, 0.0) for text in texts), "types": x.sizes.types[language]}


def selected(job: Job, x: Experiment) -> Units:
    """Words of the pool that are scored, with those of the language models of the curve."""
    section = x.config["selection"]
    monolingual = job.rule == "select_text"
    pool = x.sizes.monolingual if monolingual else x.sizes.pool
    chosen = section["monolingual_method" if monolingual else "method"] != "none"
    kept = x.sizes.extra["selected"] if monolingual else x.sizes.data["selected"]
    curve = (x.config["shards"] == 1) + sum(section["fractions"]) * (1 + section["random_samples"])
    ngrams = section["order"] * max(section["fractions"]) * pool.words.get(x.sizes.target, 0.0)
    held = min(ngrams, CURVE_MEMORY / HELD) * chosen
    return {"scored words": pool.both * curve * chosen, "words": pool.both, "held words": held, "text": kept.both}


CURVE_MEMORY = float(2 << 30)
"""Bytes that the language models of a curve are estimated in, see ``selection.curve``."""


def scored_pool(job: Job, x: Experiment) -> Units:
    """Words of the pool that are scored, by all shards."""
    pool = x.sizes.pool if job.wildcards["text"] == "train" else x.sizes.monolingual
    return {"scored words": pool.both, "words": pool.both}


def taken(job: Job, x: Experiment) -> Units:
    """Words of the pool, and of what is taken."""
    variant = job.wildcards["variant"]
    if job.rule == "take_text":
        return {"words": x.sizes.monolingual.both, "text": x.sizes.extra[variant].both}
    return {"words": x.sizes.pool.both, "text": x.sizes.data[variant].both}
