"""ARPA files in and out, with the quirks of the tools that write them; damaged ones."""

import numpy as np
import pytest
from ngram_tables import CASES, FOLDER
from refusals import check_refused

from neural_smt.language_model.arpa import arpa_model, read_arpa, write_arpa
from neural_smt.language_model.model import NgramModel
from neural_smt.vocabulary import RESERVED, UNK, Vocabulary

GOOD = (FOLDER / "bigrams.arpa").read_text(encoding="utf-8")


def written(tmp_path, text: str):
    path = tmp_path / "model.arpa"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(("old", "new"), CASES["layouts"])
@pytest.mark.parametrize("given", [None, Vocabulary([*RESERVED, "a"], [0] * 4)])
def test_words_probabilities_and_backoffs_are_read_in_any_layout(tmp_path, given, old, new):
    tables, vocabulary = read_arpa(written(tmp_path, GOOD.replace(old, new)), given)
    assert vocabulary.words == [*RESERVED, "a"]
    assert [table.words.tolist() for table in tables] == [[[0], [1], [2], [3]], [[1, 3]]]
    assert tables[0].log10_prob.tolist() == [-1, 0, -1, -0.125]
    assert [table.backoff.tolist() for table in tables] == [[0, -0.5, 0, -0.5], [0]]


def test_a_given_vocabulary_keeps_only_what_it_can_ask_for(tmp_path):
    vocabulary = Vocabulary([*RESERVED, "z", "y"], [0] * 5)
    tables, same = read_arpa(written(tmp_path, GOOD), vocabulary)
    assert same is vocabulary
    assert tables[0].words[:, 0].tolist() == [0, 1, 2] and len(tables[1]) == 0
    model = NgramModel.from_tables(tables, vocabulary)
    assert model.score_word(0, 4)[0] == pytest.approx(-1)


def test_missing_unknown_word_costs_100(tmp_path):
    text = GOOD.replace("-1\t<unk>\n", "").replace("ngram 1=4", "ngram 1=3")
    tables, vocabulary = read_arpa(written(tmp_path, text))
    model = NgramModel.from_tables(tables, vocabulary)
    assert model.score_word(model.begin_state, UNK)[0] == pytest.approx(-100.5)


@pytest.mark.parametrize(("old", "new", "pieces"), CASES["malformed"])
def test_malformed_files_are_named_with_the_line(tmp_path, old, new, pieces):
    path = written(tmp_path, GOOD.replace(old, new))
    check_refused([path, *pieces], read_arpa, path, Vocabulary.from_sentences(["a b"]))


@pytest.mark.parametrize("name", ["copy.arpa", "copy.arpa.gz"])
def test_written_and_read_again(shared, tmp_path, name):
    tables, vocabulary = read_arpa(shared / "oracle/language_model/train2000.o3.arpa.gz")
    assert [len(table) for table in tables] == [3141, 11723, 19398]
    write_arpa(tmp_path / name, tables, vocabulary)
    again, same = read_arpa(tmp_path / name)
    assert same.words == vocabulary.words
    for one, other in zip(tables, again, strict=True):
        for name in ("words", "log10_prob", "backoff"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6)


@pytest.mark.parametrize("unknown", ["<unk>", "<UNK>"])
def test_a_model_over_more_words_than_its_own(tmp_path, unknown):
    path = written(tmp_path, GOOD.replace("<unk>", unknown))
    tables, own = read_arpa(path)
    vocabulary = Vocabulary([*RESERVED, "z", "a"], [0] * 5)
    model = arpa_model(path, tables, own, vocabulary)
    assert model.vocabulary_digest == vocabulary.digest
    assert model.score_word(model.begin_state, 4)[0] == pytest.approx(-0.3)
    assert model.score_word(0, 3)[0] == pytest.approx(-1)
    fewer = Vocabulary(list(RESERVED), [0] * 3)
    assert arpa_model(path, tables, own, fewer).ngrams == (3, 0)


@pytest.mark.parametrize(("old", "new", "pieces"), CASES["ngrams"])
def test_ngrams_that_spoil_the_model_are_named(tmp_path, old, new, pieces):
    bigrams = 1 + new.count("\n")
    path = written(tmp_path, GOOD.replace(old, new).replace("ngram 2=1", f"ngram 2={bigrams}"))
    vocabulary = Vocabulary([*RESERVED, "a", "b"], [0] * 5)
    tables, own = read_arpa(path, vocabulary)
    check_refused([path, *pieces], arpa_model, path, tables, own, vocabulary)
