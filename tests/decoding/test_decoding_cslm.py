"""The CSLM in the search and on n-best lists, against networks asked from scratch and derivations counted out."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
import torch
from refusals import check_refused
from test_decoding_search import SENTENCES, assert_finds_everything, search_all
from tiny_models import TARGET, random_model

from neural_smt.cli import main
from neural_smt.decoding import nbest, search
from neural_smt.decoding.features import Weights
from neural_smt.decoding.lattices.flat import best_derivations
from neural_smt.decoding.moses.steps import export_moses
from neural_smt.decoding.nbest import ListedTranslation, read_nbest, write_entries
from neural_smt.decoding.reranking_steps import add_scores, rerank, rerank_entries, score_lists
from neural_smt.decoding.scorers.cslm import CslmFeature, CslmScoring
from neural_smt.decoding.scorers.ngrams import NgramCache
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.decoding.steps import decode
from neural_smt.io.files import read_json, read_lines, write_lines
from neural_smt.networks import normalisers
from neural_smt.networks.cslm import OUTSIDE, CslmConfig, CslmNetwork, CslmScorer, NgramBatch
from neural_smt.networks.device import select_device
from neural_smt.networks.folder import Trained
from neural_smt.vocabulary import BOS, EOS, UNK, Vocabulary

HISTORY = 3
SHORTLIST = Vocabulary(["<unk>", "<s>", "</s>", "y", "x"], [0] * 5)
"""z and q are outside: the n-gram model scores them."""

ALGORITHMS = pytest.mark.parametrize("algorithm", ["stack", "cube"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A random CSLM that is far from uniform; estimates of its normalisers are bad, from the sum over one word."""
    monkeypatch.setattr(normalisers, "FREQUENT", 1)
    config = CslmConfig(len(SHORTLIST), order=HISTORY + 1, projection=5, layers=(6, 4), initial_range=1.5)
    Trained(CslmNetwork(config, 3), SHORTLIST).save(tmp_path / "cslm")
    return tmp_path / "cslm"


def load(folder: Path, model, estimated=False, **settings) -> CslmFeature:
    phrases = model.phrase_table.target if estimated else None
    return CslmFeature.load(folder, model.language_models[0], model.target_vocabulary, settings, phrases=phrases)


class Plain:
    """The same network asked for one n-gram at a time, for ``all_derivations``."""

    name = "Cslm0"

    def __init__(self, folder: Path, model, out_of_shortlist="backoff"):
        trained = Trained.load(folder, CslmNetwork, select_device("cpu"))
        beside = model.language_models[0], model.target_vocabulary
        scorer = CslmScorer(trained, *beside, out_of_shortlist=out_of_shortlist)

        @cache
        def ngram(*ids: int) -> float:
            return float(scorer(np.array([ids[:-1]], np.int32), np.array(ids[-1:], np.int32))[0])

        self.ngram = ngram

    def whole(self, words) -> float:
        ids = [BOS] * HISTORY + [i for _, i in words] + [EOS]
        return sum(self.ngram(*ids[i - HISTORY : i + 1]) for i in range(HISTORY, len(ids)))

    def sentence(self, tokens) -> float:
        return self.whole([(token, TARGET.index.get(token, len(TARGET))) for token in tokens])


def make(folder: Path, seed: int, settings: SearchSettings, threads=1, **options) -> tuple[Decoder, Plain]:
    """A decoder of a random model with the CSLM, and the same network for one n-gram at a time."""
    model, weights = random_model(seed)
    weights.values["Cslm0"] = (0.6,)
    return Decoder(model, settings, weights, threads, load(folder, model, **options)), Plain(folder, model)


def assert_exact(decoder: Decoder, plain: Plain, entries) -> None:
    """Entries have the network's scores of their words from scratch, and the weighted sums with these."""
    expected = [plain.sentence(entry.tokens) if entry.tokens else 0.0 for entry in entries]
    features = np.array([entry.features for entry in entries], dtype=float)
    np.testing.assert_allclose(features[:, decoder.column], expected, atol=1e-4)
    np.testing.assert_allclose([entry.score for entry in entries], features @ decoder.vector, atol=1e-3)


def best_of(lattice) -> float:
    """The score of the best way through a lattice."""
    return best_derivations(lattice, 1, True)[1][0]


@ALGORITHMS
@pytest.mark.parametrize("seed", range(3))
def test_all_derivations_are_found_with_the_networks_scores(folder, algorithm, seed):
    for options in ({"recombination": -1}, {"search": "exact", "estimated": True}):
        decoder, plain = make(folder, seed, search_all(algorithm), **options)
        assert_finds_everything(decoder, 300, feature=plain)
        sentences = random_sentences()
        scores = [[found.score for found in decoder.decode(sentences, nbest)] for nbest in (0, 50)]
        np.testing.assert_allclose(*scores, atol=1e-4, err_msg="the translation is not the best of the list")


def test_the_exact_search_prunes_by_the_networks_scores(folder):
    """In stacks of one: the best phrase under the network alone, then the best after it; not so where it estimates."""
    others = 0
    for seed in range(8):
        for way in ("exact", "estimated"):
            options = {"search": way, "estimated": True, "recombination": 0, "context": 1}
            decoder, plain = make(folder, seed, search_all("stack", 0).replace(stack_size=1), **options)
            assert way == "estimated" or (decoder.feature.context, decoder.feature.estimated) == (HISTORY, False)
            decoder.vector[:] = 0.0
            decoder.vector[decoder.column] = 1.0
            table = decoder.model.phrase_table
            phrases = [words.tolist() for words in table.target.take(np.arange(table.entry_offsets[1]))]

            def scored(words, ngram=plain.ngram):
                ids = [BOS] * HISTORY + words
                return sum(ngram(*ids[i - HISTORY : i + 1]) for i in range(HISTORY, len(ids)))

            first = max(phrases, key=scored)
            second = max(phrases, key=lambda words: scored([*first, *words, EOS]))
            found = decoder.decode([["a", "a"]])[0].tokens
            same = tuple(found) == tuple(TARGET.words[word] for word in [*first, *second])
            assert same or way == "estimated"
            others += not same
    assert others > 0


@pytest.mark.parametrize("context", [-1, 1])
@ALGORITHMS
def test_estimates_only_prune(folder, algorithm, context):
    decoder, plain = make(folder, 1, search_all(algorithm), estimated=True, recombination=-1, context=context)
    feature = decoder.feature
    assert (feature.history, feature.accurate().history) == (HISTORY if context < 0 else context, HISTORY)
    given = decoder.feature_set, decoder.vector
    found = [tiny.all_derivations(decoder.model, text, *given, feature=plain) for text in SENTENCES]
    expected = [[derivation.score for derivation in derivations] for derivations in found]
    runs = [decoder.decode(SENTENCES, nbest=n, distinct=n < 1000) for n in (100_000, 0, 3, 200)]
    for listed, decoded in zip(decoder.lists(SENTENCES, 3), runs[2], strict=True):
        assert [(entry.tokens, entry.score) for entry in listed] == [(e.tokens, e.score) for e in decoded.nbest]
        assert listed.features.tolist() == [entry.features.tolist() for entry in decoded.nbest]
    for scores, everything, best, short, long in zip(expected, *runs, strict=True):
        np.testing.assert_allclose([entry.score for entry in everything.nbest], scores, rtol=1e-5, atol=1e-4)
        assert best.score == pytest.approx(scores[0], abs=1e-4) and len(best.nbest) == 0
        assert [entry.tokens for entry in short.nbest] == [entry.tokens for entry in long.nbest[:3]]
        assert short.tokens == long.tokens
    for scores, lattice in zip(expected, decoder.lattices(SENTENCES), strict=True):
        assert best_of(lattice) == pytest.approx(scores[0], abs=1e-4)
    contexts = np.array([[BOS, BOS, BOS], [3, 4, 5], [BOS, 3, 3]], dtype=np.int32)
    words = np.array([3, 4, EOS], dtype=np.int32)
    estimated, exact = feature.score(contexts[:, -feature.history :], words), feature.exact(contexts, words)
    assert 1e-3 < np.abs(estimated - exact).max() < (2.0 if context < 0 else 10.0)


@ALGORITHMS
@pytest.mark.parametrize("words", [0, 1])
def test_lists_are_exact_whatever_is_recombined(folder, algorithm, words):
    decoder, plain = make(folder, 2, search_all(algorithm), recombination=words)
    whole, _ = make(folder, 2, search_all(algorithm), recombination=-1)
    for found, best in zip(decoder.decode(SENTENCES, nbest=50), whole.decode(SENTENCES, nbest=50), strict=True):
        scores = [entry.score for entry in found.nbest]
        assert scores == sorted(scores, reverse=True)
        assert found.score <= best.score + 1e-4
        assert_exact(decoder, plain, found.nbest)
    for lattice, best in zip(decoder.lattices(SENTENCES), whole.lattices(SENTENCES), strict=True):
        assert best_of(lattice) == pytest.approx(best_of(best), abs=1e-4)


def random_sentences() -> list[list[str]]:
    generator = np.random.default_rng(4)
    return [generator.choice(["a", "b", "c", "d"], generator.integers(0, 12)).tolist() for _ in range(30)]


@ALGORITHMS
@pytest.mark.parametrize("estimated", [False, True])
def test_batches_threads_and_cache_change_nothing(folder, algorithm, estimated, monkeypatch):
    settings = SearchSettings(algorithm=algorithm, stack_size=10, pop_limit=30)
    results = []
    for cached, threads, batch in ((1 << 16, 1, 64), (1 << 16, 2, 4), (16, 1, 64), (0, 2, 7), (0, 1, 1)):
        monkeypatch.setattr(search, "FEATURE_BATCH", batch)
        decoder, plain = make(folder, 5, settings, threads, estimated=estimated, cache=cached)
        results.append(decoder.decode(random_sentences(), nbest=10))
        assert (decoder.feature.score.counts["cache_hits"] > 0) == (cached > 0)
        assert not estimated or decoder.feature.statistics()["exact"]["ngrams"] > 0
    for found, *others in zip(*results, strict=True):
        assert_exact(decoder, plain, [found, *found.nbest])
        for other in others:
            assert [entry.tokens for entry in other.nbest] == [entry.tokens for entry in found.nbest]
            scores = [[entry.score for entry in translation.nbest] for translation in (other, found)]
            np.testing.assert_allclose(*scores, atol=1e-5)


def network_scores(network: CslmScoring, listed, lines=None) -> list[float]:
    """What the network adds to listed translations (lists of tokens)."""
    entries = add_scores([ListedTranslation(0, tokens, {}, 0.0) for tokens in listed], network, lines)
    return [entry.features["Cslm0"][0] for entry in entries]


def test_listed_scores_are_those_of_the_sentence_from_scratch(folder):
    decoder, plain = make(folder, 2, SearchSettings(stack_size=20))
    sentences = [*random_sentences(), ["c", "unknown", "never", "a"]]
    entries = [entry for t in decoder.decode(sentences, nbest=20) for entry in t.nbest if entry.tokens]
    assert len(entries) > 100 and any("unknown" in entry.tokens for entry in entries)
    assert_exact(decoder, plain, entries)
    listed = [entry.tokens for entry in entries]
    rescored = network_scores(CslmScoring(decoder.feature, TARGET), listed)
    np.testing.assert_allclose(rescored, [plain.sentence(tokens) for tokens in listed], atol=1e-4)


def test_unknown_words_take_the_n_gram_models_score(folder):
    model, _ = random_model(2)
    language_model, plain, begin = model.language_models[0], Plain(folder, model), [BOS] * HISTORY
    z, state = TARGET.index["z"], language_model.begin_state
    first, after = language_model.score_word(state, 0)
    logs = np.array([language_model.score_word(state, z)[0], first + language_model.score_word(after, 0)[0], 0])
    ends = [plain.ngram(*[*begin, *words][-HISTORY:], EOS) for words in ([z], [0, 0], [])]
    scores = network_scores(CslmScoring(load(folder, model), TARGET), [["z"], ["never", "seen"], []], ["a"])
    assert scores == pytest.approx((logs * np.log(10) + ends).tolist())


def test_unknown_words_are_one_word_to_the_network_with_a_penalty(folder):
    """p(z | context) = p(q | context) = p(copied | context) = p([UNK] | context), in the search and on lists."""
    decoder, _ = make(folder, 2, search_all("stack"), out_of_shortlist="penalty", search="exact")
    network = Trained.load(folder, CslmNetwork, select_device("cpu")).network
    contexts = torch.tensor([[BOS, BOS, BOS], [BOS, BOS, UNK], [BOS, UNK, UNK]])
    unknown, end = torch.tensor([OUTSIDE] * 3), torch.tensor([1] * 3)
    with torch.no_grad():
        logs, ends = (network(NgramBatch(contexts, classes)).tolist() for classes in (unknown, end))
    scores = network_scores(CslmScoring(decoder.feature, TARGET), [["z"], ["q"], ["never"], ["never", "z"]])
    assert scores == pytest.approx([logs[0] + ends[1]] * 3 + [logs[0] + logs[1] + ends[2]], abs=1e-5)
    assert_finds_everything(decoder, 300, feature=Plain(folder, decoder.model, "penalty"))


def test_cache_counts_and_sends_only_what_is_new():
    asked = []

    def score(contexts, words):
        asked.append(np.column_stack([contexts, words]).tolist())
        return -words.astype(float) - 10 * contexts[:, 0]

    cache = NgramCache(score, 64)
    contexts = np.array([[5, 6], [3, 4], [5, 6]], dtype=np.int32)
    words = np.array([9, 1, 2], dtype=np.int32)
    assert cache(contexts, words).tolist() == [-59.0, -31.0, -52.0]
    assert asked == [[[5, 6, 9], [3, 4, 1], [5, 6, 2]]]
    assert cache(contexts[::-1].copy(), np.array([2, 1, 8], dtype=np.int32)).tolist() == [-52.0, -31.0, -58.0]
    assert asked[1:] == [[[5, 6, 8]]]
    found = cache.statistics()
    assert [found[name] for name in ("ngrams", "cache_hits", "matrix_products", "cache_hit_rate")] == [6, 2, 2, 0.3333]


@pytest.mark.parametrize("capacity", [0, 1, 16, 100, 10_000])
def test_a_small_cache_forgets_but_is_never_wrong(capacity):
    def score(contexts, words):
        return 100.0 * contexts[:, 0] + 10.0 * contexts[:, 1] + words

    cache = NgramCache(score, capacity)
    ngrams = np.array(list(itertools.product(range(9), repeat=3)), dtype=np.int32)

    def right(seed):
        chosen = np.random.default_rng(seed).permutation(ngrams)[:200]
        contexts, words = chosen[:, :2].copy(), chosen[:, 2].copy()
        return np.array_equal(cache(contexts, words), score(contexts, words))

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(right, range(150)))
    assert cache.counts["ngrams"] == 30_000
    assert (cache.counts["cache_hits"] > 0) == (capacity > 0)
    hits = cache.counts["cache_hits"]
    assert right(0) and (cache.counts["cache_hits"] == hits + 200 or capacity < 10_000)


def test_lists_are_reranked_by_weights(tmp_path):
    entries = [
        ListedTranslation(0, ["a"], {"LM0": [-1.0], "TM0": [-1.0, -2.0]}, 5.0),
        ListedTranslation(0, ["b"], {"LM0": [-2.0], "TM0": [-1.0, -1.0]}, 4.0),
        ListedTranslation(2, ["c"], {"LM0": [-3.0], "TM0": [-1.0, -1.0]}, 4.0),
    ]
    weights = Weights({"LM0": (0.5,), "TM0": (1.0, 1.0), "UnknownWordPenalty0": (1.0,)})
    ordered = rerank_entries(entries, weights.values)
    assert [(entry.tokens, entry.score) for entry in ordered] == [(["b"], -3.0), (["a"], -3.5), (["c"], -3.5)]
    check_refused("2 scores of TM0", rerank_entries, entries, {"LM0": (0.5,)})
    write_entries(tmp_path / "lists", entries)
    weights.save(tmp_path / "weights")
    files = {"nbest": tmp_path / "lists", "weights": tmp_path / "weights", "output": tmp_path / "best"}
    rerank(**files, statistics=tmp_path / "statistics")
    assert [line.split() for line in read_lines(tmp_path / "best")] == [["b"], [], ["c"]]
    assert read_json(tmp_path / "statistics") == {"sentences": 2, "entries": 3, "mean_score": -3.25}


@pytest.fixture
def system(tmp_path: Path, folder: Path) -> dict:
    """A system's files and settings, as arguments of ``decode``."""
    model, weights = random_model(6)
    weights.values["Cslm0"] = (0.5,)
    write_lines(tmp_path / "text", [" ".join(sentence) for sentence in random_sentences()])
    groups, network = [*tiny.GROUPS, "cslm"], {"kind": "cslm", "model": str(folder)}
    return {
        "text": tmp_path / "text",
        **tiny.save_system(tmp_path, model, weights, {"stack_size": 10}, features=groups, network=network),
        "output": tmp_path / "translation",
        "statistics": tmp_path / "statistics.json",
        "nbest": tmp_path / "nbest",
        "nbest_size": 5,
    }


def network_of(folder, **settings):
    """A CSLM as the description of a system names it."""
    return {"kind": "cslm", "model": str(folder), "settings": settings}


def test_decoding_reports_the_cache(system, folder):
    decode(**system)
    found = read_json(system["statistics"])["cslm"]
    assert found["ngrams"] > found["cache_hits"] > 0
    assert found["cache_hit_rate"] == round(found["cache_hits"] / found["ngrams"], 4)
    tiny.change_system(system["system"], network=network_of(folder, cache=0))
    decode(**system | {"output": system["output"].with_name("again")})
    assert read_json(system["statistics"])["cslm"]["cache_hits"] == 0
    assert system["output"].with_name("again").read_bytes() == system["output"].read_bytes()


def test_shards_translate_as_the_whole(system, tmp_path, monkeypatch):
    monkeypatch.setattr(search, "FEATURE_BATCH", 5)
    given = {name: system[name] for name in ("text", "system", "weights", "nbest_size")}
    (one, whole), (four, joined) = (tiny.decode_in_shards(given, tmp_path / str(count), count) for count in (1, 4))
    assert one == four
    assert joined["cslm"]["ngrams"] == whole["cslm"]["ngrams"]
    assert joined["cslm"]["cache_hits"] < whole["cslm"]["cache_hits"]


def list_files(system, folder):
    """Lists of a system and one that scores them, as arguments of ``score_lists``."""
    place = system["system"].parent
    network = {"kind": "cslm", "model": folder, "language_model": place / "lm", "settings": {}}
    return {"nbest": system["nbest"], "system": tiny.save_reranker(place / "lists", place, networks=[network])}


def test_rescoring_lists_gives_the_searchs_scores_and_order(system, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(nbest, "BLOCK", 4)
    decode(**system)
    listed = tmp_path / "bare"
    entries = [
        replace(entry, features={name: values for name, values in entry.features.items() if name != "Cslm0"})
        for entry in reversed(read_nbest(system["nbest"]))
    ]
    write_entries(listed, sorted(entries, key=lambda entry: entry.sentence))
    files = list_files(system, folder) | {"nbest": listed, "weights": system["weights"]}
    assert [len(tiny.score_in_shards(files, tmp_path, count)) for count in (1, 4, 16)] == [1, 4, 8]
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    assert main(["rescore", *options, "--output", str(tmp_path / "rescored.gz")]) == 0
    assert (tmp_path / "rescored.gz").read_bytes() == (tmp_path / "whole.gz").read_bytes()
    before, after = read_nbest(system["nbest"]), read_nbest(tmp_path / "rescored.gz")
    searched = {(entry.sentence, *entry.tokens): entry for entry in before}
    assert [entry.sentence for entry in after] == [entry.sentence for entry in before]
    for old, new in zip(before, after, strict=True):
        expected = searched.pop((new.sentence, *new.tokens))
        np.testing.assert_allclose(new.features["Cslm0"], expected.features["Cslm0"], rtol=1e-5, atol=1e-4)
        # In the order of the search, but for ties in the digits that lists are printed with.
        assert expected.score == pytest.approx(old.score, abs=2e-3, rel=1e-5)
    outputs = {"output": tmp_path / "best", "statistics": tmp_path / "best.json"}
    rerank(nbest=tmp_path / "rescored.gz", weights=system["weights"], **outputs)
    assert (tmp_path / "best").read_bytes() == system["output"].read_bytes()
    assert read_json(tmp_path / "best.json")["sentences"] == 30


def test_what_cannot_be_is_refused_before_anything_is_written(system, folder, tmp_path):
    write_lines(tmp_path / "bad", ["0 ||| a"])
    files = list_files(system, folder) | {"nbest": tmp_path / "bad", "output": tmp_path / "out"}
    check_refused(["bad", "line 1"], score_lists, **files)
    files = {name: system[name] for name in ("system", "weights")}
    check_refused(["Moses", "cslm"], export_moses, **files, arpas=[tmp_path / "arpa"], output=tmp_path / "out")
    for network, pieces in (
        (network_of(folder, search="none"), ["decoding.cslm.search", "'none'"]),
        (network_of(folder, size=0), ["decoding.cslm", "'size'"]),
        (None, ["system.json", "cslm"]),
    ):
        tiny.change_system(system["system"], network=network)
        check_refused(pieces, decode, **system | {"output": tmp_path / "out"})
    assert not (tmp_path / "out").exists()
