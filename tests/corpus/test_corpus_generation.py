"""The generated corpus: reproducible, tokenised as promised, free of leaks, with the noise asked for."""

from collections import Counter

import numpy as np
import pytest

from neural_smt.corpus import generation, steps
from neural_smt.corpus.grammar.lexicon import DOMAINS, Dice, Noun, noun_table
from neural_smt.corpus.grammar.sentences import sentence
from neural_smt.corpus.tokenisation import Tokeniser, escape
from neural_smt.io.files import read_lines

SMALL = {"pairs": 1500, "in_domain": 200, "dev": 100, "test": 100, "gold": 60, "monolingual": 300, "noise": 0.1}


@pytest.fixture(scope="module")
def corpus():
    """Generated parts and the token tuples they were written from."""
    pairs = []
    with pytest.MonkeyPatch.context() as patch:
        add = generation.Part.add
        patch.setattr(generation.Part, "add", lambda part, pair: (pairs.append(pair), add(part, pair)))
        parts = dict(generation.generate_corpus(SMALL, seed=7))
    return parts, pairs


def test_sizes(corpus):
    parts, _ = corpus
    sizes = {name: {len(part.source), len(part.target), len(part.alignment)} for name, part in parts.items()}
    expected = {"train" if name == "pairs" else name: {size} for name, size in SMALL.items() if name != "noise"}
    assert sizes == expected


def test_tokenising_the_raw_text_gives_the_tokens_back(corpus):
    parts, pairs = corpus
    english, french = Tokeniser("en"), Tokeniser("fr")
    raw = [sides for part in parts.values() for sides in zip(part.source, part.target, strict=True)]
    for pair, (source, target) in zip(pairs, raw, strict=True):
        assert english(source) == " ".join(map(escape, pair.source))
        assert french(target) == " ".join(map(escape, pair.target))
    assert len({word for pair in pairs for word in pair.target}) > 1000


def test_links_lie_in_the_tokenised_sentences(corpus):
    for pair in corpus[1]:
        assert pair.alignment == sorted(set(pair.alignment))
        assert all(0 <= i < len(pair.source) and 0 <= j < len(pair.target) for i, j in pair.alignment)


def test_most_words_are_linked():
    dice = Dice(np.random.default_rng(2))
    pairs = [sentence(dice, DOMAINS["news"]) for _ in range(500)]
    linked = sum(len(set(side)) for pair in pairs for side in zip(*pair.alignment, strict=True))
    assert linked / sum(len(pair.source) + len(pair.target) for pair in pairs) > 0.97


def test_another_seed_gives_another_corpus_and_parts_do_not_depend_on_other_sizes(corpus):
    first, _ = corpus
    larger = dict(generation.generate_corpus(SMALL | {"pairs": 300, "gold": 90}, seed=7))
    assert first["train"] != dict(generation.generate_corpus(SMALL, seed=8))["train"]
    assert larger["dev"] == first["dev"] and larger["train"].source == first["train"].source[:300]
    assert larger["gold"].source[:60] == first["gold"].source


def test_long_parts_are_made_in_blocks_by_any_number_of_processes(corpus, monkeypatch):
    first, _ = corpus
    monkeypatch.setattr(generation, "BLOCK", 150)
    once, twice = (list(generation.generate_corpus(SMALL, 7, processes)) for processes in (1, 2))
    assert once == twice
    assert [len(part.source) for name, part in once if name == "train"] == [150] * 10
    assert next(part.source for name, part in once if name == "monolingual") == first["monolingual"].source[:150]
    texts = [part.source for name, part in once if name == "train"]
    assert len({tuple(text[:5]) for text in texts}) == 10, "blocks differ"


def test_surnames_of_more_syllables():
    names = {}
    for syllables in (3, 8):
        parts = dict(generation.generate_corpus(SMALL | {"syllables": syllables}, seed=7))
        words = {word for line in parts["train"].source for word in line.split()}
        names[syllables] = {word for word in words if word.istitle() and len(word) > 12}
    assert len(names[8]) > len(names[3]) + 5


def test_dev_and_test_do_not_leak(corpus):
    parts, _ = corpus
    held_out = Counter(parts["dev"].source + parts["test"].source)
    assert max(held_out.values()) == 1
    held_out_targets = set(parts["dev"].target + parts["test"].target)
    for name in ("train", "in_domain", "gold", "monolingual"):
        assert not held_out.keys() & set(parts[name].source)
        assert not held_out_targets & set(parts[name].target)


def test_lengths(corpus):
    parts, pairs = corpus
    clean = len(parts["test"].source) + len(parts["dev"].source)
    lengths = [len(pair.source) for pair in pairs[:clean]]
    assert min(lengths) >= 4 and max(lengths) <= 25
    assert len(set(lengths)) > 12


def test_noise_is_there_at_the_rate_asked_for(corpus):
    parts, _ = corpus
    train = parts["train"]
    copies = sum(source == target for source, target in zip(train.source, train.target, strict=True))
    broken = sum(not links for links in train.alignment)
    fodder = sum(not source or not target for source, target in zip(train.source, train.target, strict=True))
    assert 15 < copies < 60
    assert 40 < broken < 120
    assert fodder >= 1
    quiet = dict(generation.generate_corpus(SMALL | {"noise": 0.0}, seed=7))["train"]
    assert all(quiet.alignment) and all(quiet.source) and all(quiet.target)


def test_nouns_follow_zipfs_law():
    table = noun_table("n", "pgtolea", "-")
    dice = Dice(np.random.default_rng(1))
    drawn: Counter[Noun] = Counter(dice.draw(table) for _ in range(40_000))
    counts = sorted(drawn.values(), reverse=True)
    slope = np.polyfit(np.log(np.arange(3, 81)), np.log(counts[2:80]), 1)[0]
    assert -1.4 < slope < -0.7


def test_step_writes_every_part(tmp_path):
    written = []
    for folder in (tmp_path / "generated", tmp_path / "again"):
        steps.generate(settings=SMALL, seed=3, output=folder)
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0] == written[1], "the same seed gives the same corpus"
    assert len(written[0]) == 18 and {"gold.align", "train.fr.gz"} <= written[0].keys()
    assert len(read_lines(tmp_path / "generated" / "gold.en.gz")) == 60
