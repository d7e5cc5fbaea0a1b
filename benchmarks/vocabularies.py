"""Target vocabularies of sentences on Multi30k English-French: how fast they are drawn and united, what they hold.

Needs the reference data (``data/multi30k`` in NEURAL_SMT_SHARED, by default ``../shared``). The text is tokenised,
aligned and its phrase table built first; measured is what comes after, on one thread, from text in memory to sets.
Writes benchmarks/results/vocabularies.json.
"""

import numpy as np
from lib import REPETITIONS, RESULTS, fastest, peak_megabytes
from lib.multi30k import MAX_LENGTH, SMOOTHING, Captions, available, captions, sentences

from neural_smt.alignment.lexical import lexical_table
from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_parallel, write_json
from neural_smt.phrases.extraction import extract_pairs
from neural_smt.phrases.scoring import score_pairs
from neural_smt.training.attention import partitions
from neural_smt.vocabulary_selection.building import Sources, applicable_phrases, build_sets
from neural_smt.vocabulary_selection.candidates import SIZES, CandidateSets
from neural_smt.vocabulary_selection.coverage_steps import measure_pieces

BATCH = 80
TAU = 5000


def tables(text: Captions) -> Sources:
    """The word translation table and the phrase table of the training text; the network knows all its words."""
    words, alignments = text.encode(), read_alignments(text.alignment)
    lexical = lexical_table([(*words, alignments)], *map(len, text.vocabularies))
    pairs = extract_pairs(*words, alignments, MAX_LENGTH, 1)
    table = score_pairs(pairs, lexical, *text.vocabularies, MAX_LENGTH, SMOOTHING, 1)
    return Sources(*text.vocabularies, text.vocabularies[1], lexical, table)


def epoch_batches(count: int) -> list[np.ndarray]:
    """Rows of the shuffled batches of one epoch."""
    rows = np.random.default_rng(1).permutation(count)
    return [rows[start : start + BATCH] for start in range(0, count, BATCH)]


def unite(sets: CandidateSets, batches: list[np.ndarray]) -> list[np.ndarray]:
    """The vocabulary of every batch, V_B."""
    return [sets.union(rows) for rows in batches]


def main() -> None:
    if not available():
        return
    text = captions()
    sources = tables(text)
    lines, references = read_parallel(text.source, text.target)
    settings = section_settings(SIZES, {})
    sets = build_sets(sources, settings, lines, references)  # compiles the kernels
    seconds = fastest(build_sets, sources, settings, lines, references)
    phrases = np.count_nonzero(applicable_phrases(sources.phrase_table, sources.encode(lines), 0)[0] >= 0)
    batches = epoch_batches(len(lines))
    united = fastest(unite, sets, batches)
    targets = sources.network.encode_words(references)
    arguments = targets, batches, TAU, len(sources.network)
    parts = partitions(*arguments)
    cut = fastest(partitions, *arguments)
    source, target = ([" ".join(tokens) for tokens in sentences("val", side)] for side in ("en", "fr"))
    rows = np.random.default_rng(1).permutation(len(source))
    own, encoded = build_sets(sources, settings, source), sources.network.encode_words(target)
    held = measure_pieces([(own.take(rows), encoded.take(rows))], BATCH)
    found = {
        "sentences_per_second": round(len(lines) / seconds),
        "phrases_per_second": round(phrases / seconds),
        "union_milliseconds": round(1000 * united / len(batches), 4),
        "partition_seconds": round(cut, 3),
        "partitions": len({id(ids) for ids in parts}),
        "val_coverage": round(held.covered / held.reference_words, 4),
        "val_sentence_size": round(held.sentence_size, 1),
        "val_batch_size": round(held.batch_size, 1),
        "peak_megabytes": peak_megabytes(),
    }
    print(f"{len(lines):,} sentences in {seconds:.2f} s: {found['phrases_per_second']:,} applicable phrases/s")
    print(
        f"union of {BATCH} sentences: {found['union_milliseconds']:.3f} ms; {found['partitions']} parts in {cut:.2f} s"
    )
    sizes = f"{held.sentence_size:.0f} words a sentence, {held.batch_size:.0f} a batch"
    print(f"val: {100 * held.covered / held.reference_words:.1f} % of the reference; {sizes}", flush=True)
    write_json(RESULTS / "vocabularies.json", {"repetitions": REPETITIONS, **found})


if __name__ == "__main__":
    main()
