"""A phrase table with the network's proposals, row by row."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from moses_tables import moses_vocabularies, read_moses
from network_cases import CASES, enlarge
from refusals import check_refused

from neural_smt.alignment.lexical import LexicalTable, lexical_table
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_json, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.folder import Trained
from neural_smt.networks.proposals import beam_search
from neural_smt.phrases.table import PhraseTable
from neural_smt.rescoring.proposed_table import link_by_lexicon, propose_table, text_phrases
from neural_smt.rescoring.steps import propose_phrases
from neural_smt.shortlist import most_frequent
from neural_smt.vocabulary import EOS, Vocabulary

TABLE = Path(__file__).with_name("phrase-table")
SENTENCES = ["a b a b c", "unheard a"]
World = tuple[PhraseTable, Trained[EncoderDecoder], tuple[Vocabulary, Vocabulary], LexicalTable]


@pytest.fixture
def world() -> World:
    """A table, a network that knows a, b and the targets x, y, and a lexicon of a-x (3 of 4), a-y and b-y."""
    vocabularies = moses_vocabularies(TABLE)
    table = read_moses(TABLE, None, *vocabularies)
    source = most_frequent(vocabularies[0], 2)
    assert source.words[3:] == ["a", "b"]
    target = most_frequent(vocabularies[1], 2)
    network = CASES["code"].make(source_words=len(source), target_words=len(target))
    enlarge(network, 0.4)
    network.output.bias.data[EOS] += 2.0
    pairs = [("a", "x"), ("a", "x"), ("a", "x"), ("a", "y"), ("b", "y")]
    words = [vocabulary.encode(pair[side] for pair in pairs) for side, vocabulary in enumerate(vocabularies)]
    links = Ragged(np.zeros((5, 2), dtype=np.int16), np.arange(6))
    lexical = lexical_table([(*words, links)], len(vocabularies[0]), len(vocabularies[1]))
    return table, Trained(network, source, target), vocabularies, lexical


def pairs_of(table: PhraseTable, vocabularies: tuple[Vocabulary, Vocabulary]) -> dict[tuple[str, str], int]:
    """(source, target) -> row."""
    return {
        (vocabularies[0].text(table.source[number]), vocabularies[1].text(table.target[row])): row
        for row, number in enumerate(table.entry_source.tolist())
    }


def proposed(world: World, **settings: Any) -> PhraseTable:
    """The table of ``SENTENCES`` with proposals."""
    table, model, vocabularies, lexical = world
    sentences = vocabularies[0].encode(SENTENCES)
    return propose_table(table, model, vocabularies, lexical, sentences, section_settings("proposals", settings))


def proposals(model: Trained[EncoderDecoder], source: str, best: int) -> dict[str, float]:
    """What the network proposes for one phrase by itself, with log p."""
    found = beam_search(model.network, model.source.encode([source]), best)
    return {model.target.text(p): s for p, s in zip(found.phrases, found.scores, strict=True) if 1 <= len(p) <= 7}


def test_phrases_of_a_text_are_its_n_grams_without_unknown_words() -> None:
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "b", "a", "c"], [0, 0, 0, 3, 3, 1])
    phrases = text_phrases(vocabulary.encode(SENTENCES), 3)
    texts = [vocabulary.text(phrase) for phrase in phrases]
    assert texts == ["b", "a", "c", "b a", "b c", "a b", "b a b", "a b a", "a b c"]


def test_where_the_network_proposes_its_phrases_replace_the_tables(world: World) -> None:
    _, model, vocabularies, _ = world
    new = proposed(world, best=4, max_words=2)
    expected = {(source, target) for source in ("a", "b", "a b", "b a") for target in proposals(model, source, 4)}
    # `c` is unknown to the network, `b a b` longer than 2 words: both keep their rows; `d` is not in the text
    expected |= {("c", "z"), ("b a b", "y")}
    assert set(pairs_of(new, vocabularies)) == expected
    assert [new.source_digest, new.target_digest] == [vocabulary.digest for vocabulary in vocabularies]
    keys = [(len(p), *p.tolist()) for p in new.source]
    assert keys == sorted(keys)
    assert len(keys) == len(set(keys)) == 6


def test_a_network_that_proposes_nothing_leaves_the_table_as_it_is(world: World) -> None:
    table, model, vocabularies, _ = world
    with torch.no_grad():
        model.network.output.bias[EOS] = -1000.0
    new = proposed(world, best=2, max_words=2)
    assert set(pairs_of(new, vocabularies)) == {pair for pair in pairs_of(table, vocabularies) if pair[0] != "d"}


def test_scores_of_new_pairs_and_rows_of_known_ones(world: World) -> None:
    table, model, vocabularies, _ = world
    new = proposed(world, best=30, max_words=2, mode="add", mu=0.5)
    rows, old = pairs_of(new, vocabularies), pairs_of(table, vocabularies)
    kept = [pair for pair in old if pair[0] != "d"]
    for pair in kept:
        for name in ("scores", "counts", "reordering"):
            np.testing.assert_array_equal(getattr(new, name)[rows[pair]], getattr(table, name)[old[pair]])
        np.testing.assert_array_equal(new.alignment[rows[pair]], table.alignment[old[pair]])
    assert len(rows) > len(kept)
    # a new pair of known phrases: `y` was extracted 5 times, `a` 4 times; w(a|y) = 1/2, w(y|a) = 1/4
    row = rows["a", "y"]
    assert new.counts[row].tolist() == [5, 4, 0]
    assert new.alignment[row].tolist() == [[0, 0]]
    network = np.exp(proposals(model, "a", 30)["y"])
    expected = [0.5 * 0.5 / (5 + 0.5), 0.5, 0.5 * network / (4 + 0.5), 0.25]
    np.testing.assert_allclose(new.scores[row], expected, rtol=1e-4)
    np.testing.assert_allclose(new.reordering[row], 1 / 3, rtol=1e-6)
    # of two unseen phrases only lexicon and network say anything; x is linked with a, y with b under which it is surer
    row = rows["b a", "x y"]
    assert new.counts[row].tolist() == [2, 0, 0]
    assert sorted(map(tuple, new.alignment[row].tolist())) == [(0, 1), (1, 0)]
    network = np.exp(proposals(model, "b a", 30)["x y"])
    expected = [0.5 * 0.5 / 2.5, 1 * 0.5, network, 0.75 * 1]
    np.testing.assert_allclose(new.scores[row], expected, rtol=1e-4)


def test_words_are_linked_where_they_are_most_probable() -> None:
    # source word 0 -> target words 1 (0.2), 2 (0.9); source word 1 -> target word 1 (0.6)
    lexical = np.array([0, 2, 3]), np.array([1, 2, 1], dtype=np.int32), np.array([0.2, 0.9, 0.6])
    source, target = np.array([0, 1], dtype=np.int32), np.array([1, 2, 3], dtype=np.int32)
    links = link_by_lexicon((source, np.array([0, 2])), (target, np.array([0, 3])), lexical)
    assert links.tolist() == [1 << 1 | 1 << 8]


def test_the_step_writes_a_table(world: World, tmp_path: Path) -> None:
    table, model, vocabularies, lexical = world
    table.save(tmp_path / "phrase_table")
    model.save(tmp_path / "model")
    lexical.save(tmp_path / "lexical")
    for vocabulary, side in zip(vocabularies, ("source", "target"), strict=True):
        vocabulary.save(tmp_path / f"{side}_vocabulary")
    write_lines(tmp_path / "text", SENTENCES)
    names = ("phrase_table", "model", "lexical", "source_vocabulary", "target_vocabulary", "output", "statistics")
    arguments = {name: tmp_path / name for name in names} | {"texts": [tmp_path / "text"], "device": "cpu"}
    propose_phrases(**arguments, settings={"best": 3})
    new = PhraseTable.load(tmp_path / "output")
    report = read_json(tmp_path / "statistics")
    assert report["pairs"] == len(new)
    assert report["new_pairs"] == int((new.counts[:, 2] == 0).sum()) > 0
    check_refused(["proposals.mode", "'more'"], propose_phrases, **arguments, settings={"mode": "more"})
    backward = EncoderDecoder(replace(model.network.config, direction="backward"))
    Trained(backward, model.source, model.target).save(tmp_path / "model")
    check_refused("target phrases", propose_phrases, **arguments, settings={})
