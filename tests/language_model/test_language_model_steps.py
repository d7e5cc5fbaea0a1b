"""The step that builds a model, with our estimator, with lmplz where it is, and with a stand-in for it; perplexity."""

import shutil

import numpy as np
import pytest
from ngram_tables import FOLDER, assert_same_ngrams
from refusals import check_refused

from neural_smt.io.arrays import read_meta
from neural_smt.io.files import read_json, read_lines, write_lines
from neural_smt.io.records import FILE
from neural_smt.language_model.arpa import read_arpa
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel, comparable_perplexity, measure_perplexity
from neural_smt.language_model.steps import build_language_model, measure_language_model
from neural_smt.vocabulary import Vocabulary

SETTINGS = {"order": 3, "prune": [], "estimator": "internal", "memory": "1G", "quantise": 0}

FAKE_LMPLZ = (FOLDER / "fake_lmplz.sh").read_text(encoding="utf-8")


@pytest.fixture
def corpus(tmp_path):
    lines = ["the cat sees the dog", "the dog sees a cat", "a cat sleeps", "the dog sleeps"]
    texts = [tmp_path / "one.txt", tmp_path / "two.txt.gz"]
    write_lines(texts[0], lines[:2])
    write_lines(texts[1], lines[2:])
    Vocabulary.from_sentences(lines).save(tmp_path / "vocabulary.tsv")
    return texts, tmp_path / "vocabulary.tsv"


def build(corpus, output, arpa=None, **settings):
    """A model of the corpus (or of some of its texts), by other settings than the usual."""
    texts, vocabulary = corpus
    build_language_model(texts=texts, vocabulary=vocabulary, settings=SETTINGS | settings, output=output, arpa=arpa)
    return Vocabulary.load(vocabulary)


def fake_lmplz(folder, monkeypatch, arpa, status=0):
    (folder / "bin").mkdir()
    program = folder / "bin" / "lmplz"
    paths = {"arguments": folder / "arguments", "text": folder / "seen_text", "arpa": arpa}
    program.write_text(FAKE_LMPLZ.format(**paths, status=status))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")


@pytest.mark.parametrize("bits", [0, 8])
def test_little_memory_same_bytes(corpus, tmp_path, bits):
    for name, memory in (("much", "1G"), ("little", "100b")):
        build(corpus, tmp_path / name, tmp_path / f"{name}.arpa", memory=memory, prune=[0, 0, 1], quantise=bits)
    for path in (tmp_path / "much").iterdir():
        assert path.read_bytes() == (tmp_path / "little" / path.name).read_bytes()
    assert (tmp_path / "much.arpa").read_bytes() == (tmp_path / "little.arpa").read_bytes()
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_quantised_model_is_smaller_and_says_nearly_the_same(corpus, tmp_path):
    for bits in (0, 8):
        words = build(corpus, tmp_path / str(bits), tmp_path / f"{bits}.arpa", quantise=bits)
    exact, coded = (NgramModel.load(tmp_path / name, words) for name in ("0", "8"))
    assert (exact.quantised, coded.quantised) == (False, True)
    assert read_meta(tmp_path / "8" / FILE)["quantise"] == 8
    text = words.encode(["the cat sleeps", "a dog", "unheard the"])
    np.testing.assert_allclose(coded.score_sentences(text)[0], exact.score_sentences(text)[0], atol=1e-4)
    assert (tmp_path / "0.arpa").read_bytes() == (tmp_path / "8.arpa").read_bytes()


def test_perplexity_is_measured_with_and_without_regard_to_the_vocabulary(corpus, tmp_path):
    texts, vocabulary = corpus
    words = build((texts[:1], vocabulary), tmp_path / "model")
    model = NgramModel.load(tmp_path / "model", words)
    assert model.known_words == 7 and len(words) == 9  # <unk> </s> the cat sees dog a; sleeps, <s>
    dev, output = tmp_path / "dev.txt", tmp_path / "p.json"
    write_lines(dev, ["the zebra sleeps", "the cat"])
    measure_language_model(model=tmp_path / "model", vocabulary=vocabulary, text=dev, output=output)
    measured = read_json(output)
    assert [measured[name] for name in ("sentences", "words", "unknown")] == [2, 5, 2]
    plain = measure_perplexity(model, words.encode(["the zebra sleeps", "the cat"]))
    assert plain.value == 10 ** (-plain.log10_prob / 7), "two ends of sentences count as words"
    assert measured["perplexity"] == pytest.approx(plain.value, abs=1e-4)
    assert measured["comparable_perplexity"] > measured["perplexity"] + 0.1
    write_lines(dev, [])
    given = {"model": tmp_path / "model", "vocabulary": vocabulary, "text": dev, "output": output}
    check_refused(["dev.txt", "no sentence"], measure_language_model, **given)


def test_a_model_of_words_outside_its_vocabulary_cannot_be_compared():
    lines = ["a b x y z x", "c x d y", "a x b", "x y z w", "a b c x"]
    words = Vocabulary.from_sentences(["a b c d"])
    model = NgramModel.from_tables(estimate(words.encode(lines), 3).tables, words)
    check_refused(["vocabulary"], comparable_perplexity, model, words.encode(["a b c"]), len(words) - 1)


def test_comparable_perplexity_is_that_of_a_model_of_the_whole_vocabulary():
    generator = np.random.default_rng(5)
    lines = [" ".join(map(str, generator.zipf(1.4, 12) % 3000)) for _ in range(900)]
    words = Vocabulary.from_sentences(lines[:800])
    text, dev = words.encode(lines[:200]), words.encode(lines[800:])
    estimates = (estimate(text, 3, vocabulary_size=size) for size in (None, len(words) - 1))
    small, whole = (NgramModel.from_tables(estimated.tables, words) for estimated in estimates)
    naive, exact = measure_perplexity(small, dev), measure_perplexity(whole, dev)
    assert naive.unknown > 50 and len(words) - 1 > 2 * small.known_words
    assert naive.value < 0.95 * exact.value, "an unknown word is too cheap for the model of little text"
    assert comparable_perplexity(small, dev, len(words) - 1) == pytest.approx(exact.value, rel=1e-4)
    assert comparable_perplexity(small, dev, small.known_words) == pytest.approx(naive.value, rel=1e-6)


def test_lmplz_must_be_there(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    check_refused(["lmplz", "PATH"], build, corpus, tmp_path / "model", estimator="lmplz")
    assert not (tmp_path / "model").exists()


def test_lmplz_is_given_the_text_and_its_model_is_read(corpus, tmp_path, monkeypatch):
    build(corpus, tmp_path / "ours", tmp_path / "ours.arpa")
    fake_lmplz(tmp_path, monkeypatch, tmp_path / "ours.arpa")
    words = build(corpus, tmp_path / "theirs", estimator="lmplz", prune=[0, 0, 1], memory="50%")
    arguments = (tmp_path / "arguments").read_text()
    assert "-o 3 -S 50%" in arguments and "--prune 0 0 1" in arguments and "--discount_fallback" in arguments
    assert read_lines(tmp_path / "seen_text") == [line for text in corpus[0] for line in read_lines(text)]
    text = words.encode(["the cat sleeps", "a dog", "unheard the"])
    ours, theirs = (NgramModel.load(tmp_path / name, words) for name in ("ours", "theirs"))
    assert ours.order == theirs.order == 3
    np.testing.assert_allclose(ours.score_sentences(text)[0], theirs.score_sentences(text)[0], atol=1e-5)


def test_a_failing_lmplz_is_reported(corpus, tmp_path, monkeypatch):
    fake_lmplz(tmp_path, monkeypatch, tmp_path / "nothing", status=3)
    check_refused(["lmplz", "3", "nothing"], build, corpus, tmp_path / "model", estimator="lmplz")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.skipif(shutil.which("lmplz") is None, reason="needs lmplz on PATH")
@pytest.mark.parametrize("prune", [[], [0, 0, 1]])
def test_lmplz_estimates_the_same(prune, tmp_path):
    """That the installed program takes our arguments; what lmplz made of real text is compared in the other tests."""
    drawn = np.random.default_rng(1).zipf(1.3, size=(400, 12))
    lines = [" ".join(f"w{word}" for word in row[: 1 + row[0] % 12] if word < 300) for row in drawn]
    write_lines(tmp_path / "text", lines)
    Vocabulary.from_sentences(lines).save(tmp_path / "vocabulary.tsv")
    text = [tmp_path / "text"], tmp_path / "vocabulary.tsv"
    for estimator in ("internal", "lmplz"):
        output, arpa = tmp_path / f"{estimator}.model", tmp_path / f"{estimator}.arpa"
        words = build(text, output, arpa, estimator=estimator, prune=prune)
    ours, theirs = (read_arpa(tmp_path / f"{estimator}.arpa", words)[0] for estimator in ("internal", "lmplz"))
    assert_same_ngrams(ours, theirs, 2e-6)
