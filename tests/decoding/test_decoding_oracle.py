"""Oracles against all combinations and all derivations, and on the lattices of real sentences."""

import itertools

import numpy as np
import pytest
from moses_folder import write_model
from tiny_models import EVERYTHING, SENTENCES, TARGET, all_derivations, random_decoder

from neural_smt.bleu import bleu, corpus_statistics, sentence_bleu
from neural_smt.cli import main
from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.decoding.lattices.oracle import (
    build_automaton,
    column,
    corpus_oracle,
    encode_references,
    sentence_oracle,
)
from neural_smt.decoding.oracles import lattices_of_lists, oracle_rows
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.io.files import read_csv
from neural_smt.io.ragged import Ragged


def lattices_and_references(decoder, sentences, references):
    """The lattices of sentences, and their references in the ids of the lattices."""
    prepared = decoder.prepare(sentences)
    flat = FlatLattices.of(decoder.lattices(prepared), decoder.feature_set.size)
    return flat, encode_references(references, decoder.model.target_vocabulary, prepared.unknown_words)


def test_references_use_the_ids_of_the_decoder():
    encoded = encode_references([["x", "unknown", "other", "y", "other"], []], TARGET, ["c", "unknown"])
    assert encoded[0].tolist() == [3, len(TARGET) + 1, -2, 4, -2] and len(encoded[1]) == 0


@pytest.mark.parametrize("seed", range(8))
def test_list_oracles_against_all_combinations(seed):
    generator = np.random.default_rng(seed)
    references = [generator.integers(0, 5, generator.integers(4, 9)).tolist() for _ in range(4)]
    lists = [
        [[w if generator.random() < 0.8 else 9 for w in reference][: generator.integers(4, 9)] for _ in range(4)]
        for reference in references
    ]
    lattices = lattices_of_lists(Ragged.from_lists(itertools.chain(*lists)), np.arange(0, 17, 4))
    encoded = Ragged.from_lists(references)
    by_sentence, by_corpus = (find(lattices, encoded, beam=0) for find in (sentence_oracle, corpus_oracle))
    entries = np.array([corpus_statistics(part, [r] * len(part)) for part, r in zip(lists, references, strict=True)])
    assert sentence_bleu(by_sentence.statistics).tolist() == [sentence_bleu(part).max() for part in entries]
    chosen = by_corpus.arcs.values
    assert by_corpus.statistics.tolist() == entries.reshape(16, -1)[chosen].tolist()
    best = max(bleu(entries[range(4), choice]) for choice in itertools.product(range(4), repeat=4))
    assert by_sentence.bleu - 1e-12 <= by_corpus.bleu <= best + 1e-12
    assert by_corpus.bleu >= 0.97 * best
    for sentence, entry in itertools.product(range(4), range(4)):  # no exchange of one entry helps
        other = chosen - np.arange(0, 16, 4)
        other[sentence] = entry
        assert bleu(entries[range(4), other]) <= by_corpus.bleu + 1e-12


def test_reference_automaton_counts_the_n_grams():
    reference = np.array([5, 7, 5, 7, 5, 9], dtype=np.int32)
    automaton = build_automaton(reference)
    found = set()
    for length in range(1, 5):
        for start in range(len(reference) - length + 1):
            state = 0
            for word in reference[start : start + length]:
                state = automaton.successor[automaton.context[state], column(automaton.words, word)]
            assert automaton.order[state] == length
            found.add(int(state))
            ngram = reference[start : start + length].tolist()
            times = sum(reference[i : i + length].tolist() == ngram for i in range(len(reference)))
            assert automaton.count[state] == times
    assert found == set(range(1, len(automaton.order)))
    assert automaton.successor[3, column(automaton.words, 1)] == 0  # a word that the reference does not hold


def words_of(flat, arcs):
    return flat.words.take(arcs).values.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_lattice_oracles_against_all_derivations(seed):
    """The best one of each sentence, a beam close to it; none that lifts the BLEU of the corpus."""
    generator = np.random.default_rng(seed)
    decoder = random_decoder(seed, EVERYTHING)
    references, derivations = [], []
    for sentence in SENTENCES:
        every = all_derivations(decoder.model, sentence, decoder.feature_set, decoder.vector) if sentence else []
        texts = list(dict.fromkeys(derivation.tokens for derivation in every)) or [()]
        words = texts[len(texts) // 2] or ("x", "unknown")
        references.append([w if generator.random() < 0.9 else "stranger" for w in words] + ["q"])
        derivations.append(corpus_statistics(texts, [references[-1]] * len(texts)))
    flat, encoded = lattices_and_references(decoder, SENTENCES, references)
    found, narrow, corpus = (*(sentence_oracle(flat, encoded, n) for n in (0, 5)), corpus_oracle(flat, encoded, 0))
    assert 0.9 * found.mean_sentence_bleu <= narrow.mean_sentence_bleu <= found.mean_sentence_bleu + 1e-12
    assert corpus.bleu >= found.bleu and corpus.bleu > 0
    for number, every in enumerate(derivations):
        for oracle in (found, corpus):
            arcs, row = oracle.arcs[number], oracle.statistics[number].tolist()
            assert corpus_statistics([words_of(flat, arcs)], [encoded[number]])[0].tolist() == row
            assert row in every.tolist()
        assert sentence_bleu(found.statistics)[number] == pytest.approx(sentence_bleu(every).max())
        others = corpus.statistics.sum(axis=0) - corpus.statistics[number]
        assert max(bleu(others + row) for row in every) <= corpus.bleu + 1e-12


def one_step(phrases):
    """A lattice of two nodes with an arc for each translation of the whole sentence."""
    return lattices_of_lists(Ragged.from_lists(phrases), np.array([0, len(phrases)]))


def test_matches_of_a_word_repeated_more_often_than_a_byte_counts():
    found = sentence_oracle(one_step([[7] * 600]), Ragged.from_lists([[7] * 300]))
    assert found.statistics[0].tolist() == [300, 600, 299, 599, 298, 598, 297, 597, 300]


def test_corpus_oracle_lifts_a_corpus_without_matches_of_the_highest_order():
    """BLEU+1 prefers three trigrams to one 4-gram, which alone makes BLEU positive."""
    reference = list(range(1, 13))
    flat = one_step([[1, 2, 3, 99, 5, 6, 7, 99, 9, 10, 11, 99], [1, 2, 3, 4, *[99] * 8]])
    encoded = Ragged.from_lists([reference])
    by_sentence, by_corpus = sentence_oracle(flat, encoded), corpus_oracle(flat, encoded)
    assert by_sentence.arcs[0].tolist() == [0] and by_sentence.bleu == 0
    assert by_corpus.arcs[0].tolist() == [1]
    assert by_corpus.bleu == pytest.approx((4 / 12 * 3 / 11 * 2 / 10 * 1 / 9) ** 0.25)


def test_oracle_command(tmp_path):
    """Against its own translations as references everything scores 100; else more choice is better."""
    ini = str(write_model(tmp_path / "moses"))
    source, own, other, table = (tmp_path / name for name in ("source", "own", "other", "table.csv"))
    source.write_text("a b a b a\n\nb a a b a b\n")
    assert main(["decode", "--moses-ini", ini, "--input", str(source), "--output", str(own)]) == 0
    other.write_text("".join(" ".join(reversed(line.split())) + "\n" for line in own.read_text().splitlines()))
    command = f"oracle --moses-ini {ini} --source {source} --output {table} --nbest-sizes 3 30".split()
    names = [("1-best", "model"), *itertools.product(("3-best", "30-best", "lattice"), ("sentence", "corpus"))]
    for reference in (other, own):
        assert main([*command, "--reference", str(reference)]) == 0
        rows = read_csv(table)
        assert [(row["candidates"], row["oracle"]) for row in rows] == names
        means = [float(row["mean_sentence_bleu"]) for row in rows if row["oracle"] != "corpus"]
        assert means == sorted(means) and float(rows[1]["per_sentence"]) <= 3
    assert {row["bleu"] for row in rows} == {"100.00"}
    assert main([*command, "--reference", str(own), "--density", "0"]) == 1


def test_oracles_of_real_lattices_beat_lists(real):
    """Lattice above 100-best above 1-best, for the mean of sentences and for the corpus."""
    sentences, references = real.sentences[:40], real.references[:40]
    decoder = Decoder(real.model, SearchSettings(algorithm="cube", pop_limit=100, stack_size=50), real.ini.weights)
    lattices = AlignedLattices.of(decoder.lattices(sentences), decoder)
    rows = {(row.candidates, row.oracle): row for row in oracle_rows(lattices, references, [100])}
    first, best = rows["1-best", "model"], {name: rows[name, "sentence"] for name in ("100-best", "lattice")}
    means = [row.mean_sentence_bleu for row in (first, best["100-best"], best["lattice"])]
    assert means[2] > means[1] > means[0] + 5
    corpus = [rows[name, "corpus"].bleu for name in ("100-best", "lattice")]
    assert corpus[1] > corpus[0] >= best["100-best"].bleu > first.bleu + 5
    flat, encoded = lattices_and_references(decoder, sentences, references)
    found = sentence_oracle(flat, encoded)
    assert 100 * found.mean_sentence_bleu == best["lattice"].mean_sentence_bleu
    for number in range(len(sentences)):
        words = words_of(flat, found.arcs[number])
        assert corpus_statistics([words], [encoded[number]])[0].tolist() == found.statistics[number].tolist()
        assert (flat.tails[found.arcs[number]][0]) == flat.node_offsets[number]
