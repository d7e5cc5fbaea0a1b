"""ARPA files in and out, with the quirks of the tools that write them."""

import numpy as np
import pytest

from neural_smt.errors import UserError
from neural_smt.language_model.arpa import arpa_model, read_arpa, write_arpa
from neural_smt.language_model.model import NgramModel
from neural_smt.vocabulary import UNK, Vocabulary

GOOD = """\\data\\
ngram 1=4
ngram 2=1

\\1-grams:
-1	<unk>
0	<s>	-0.5
-1	</s>
-1.25e-1 a -.5

\\2-grams:
-0.3	<s> a

\\end\\
"""


def written(tmp_path, text: str):
    path = tmp_path / "model.arpa"
    path.write_bytes(text.encode())
    return path


def test_reads_words_probabilities_and_backoffs(tmp_path):
    tables, vocabulary = read_arpa(written(tmp_path, GOOD))
    assert vocabulary.words == ["<unk>", "<s>", "</s>", "a"]
    assert tables[0].words[:, 0].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(tables[0].log10_prob, [-1, 0, -1, -0.125])
    np.testing.assert_allclose(tables[0].backoff, [0, -0.5, 0, -0.5])
    assert tables[1].words.tolist() == [[1, 3]] and tables[1].backoff.tolist() == [0]


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("\\data\\", "made by hand\n\n\\data\\"), ("\n\\end", "\n\n\\end")])
def test_line_ends_preamble_and_blank_lines_do_not_matter(tmp_path, change):
    plain, _ = read_arpa(written(tmp_path, GOOD))
    changed, vocabulary = read_arpa(written(tmp_path, GOOD.replace(*change)))
    assert vocabulary.words == ["<unk>", "<s>", "</s>", "a"]
    for one, other in zip(plain, changed, strict=True):
        assert np.array_equal(one.words, other.words) and np.array_equal(one.log10_prob, other.log10_prob)


def test_a_given_vocabulary_keeps_only_what_it_can_ask_for(tmp_path):
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "z", "y"], [0] * 5)
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


def test_upper_case_unknown_word(tmp_path):
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "a"], [0] * 4)
    tables, _ = read_arpa(written(tmp_path, GOOD.replace("<unk>", "<UNK>")), vocabulary)
    assert tables[0].words[:, 0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\\data\\", "", "line 1: no "),
        ("ngram 2=1", "ngram 3=1", "line 3: expected 'ngram 2="),
        ("ngram 2=1", "ngram 2", "line 3: expected 'ngram 2="),
        ("ngram 1=4\nngram 2=1\n", "", "line 3: expected 'ngram 1="),
        ("-1\t</s>", "one\t</s>", "line 8: expected a number"),
        ("-1\t</s>", "-\t</s>", "line 8: expected a number"),
        ("-1\t</s>", "-1", "line 8: expected 'log10-probability"),
        ("<s>\t-0.5", "<s>\t-0.5x", "line 7: expected a number"),
        ("<s>\t-0.5", "<s>\t-0.5\t3", "line 7: expected 'log10-probability words"),
        ("-0.3\t<s> a", "-0.3\t<s>", "line 12: expected 'log10-probability words .back-off.' with 2 words"),
        ("ngram 1=4", "ngram 1=3", "line 9: more 1-grams than the 3"),
        ("ngram 1=4", "ngram 1=5", "line 10: fewer 1-grams than the 5"),
        ("\\2-grams:", "\\3-grams:", "line 11: expected '.2-grams:'"),
        ("\\end\\", "", "expected '.end"),
        ("-1\t</s>", "1e-9\t</s>", "line 8: a log10 probability is above 0"),
        ("-1\t</s>", "nan\t</s>", "line 8: expected a number"),
        ("-1\t</s>", "-1e39\t</s>", "line 8: expected a number, which must be finite"),
        ("<s>\t-0.5", "<s>\t-inf", "line 7: expected a number, which must be finite"),
        ("<s>\t-0.5", "<s>\t1e39", "line 7: expected a number, which must be finite"),
        ("ngram 2=1", "ngram 2=999999999999999", "line 3: more 2-grams than the file has room for"),
        ("ngram 2=1", "ngram 2=9999999999999999999999", "line 3: expected 'ngram 2="),
        ("\\2-grams:\n-0.3\t<s> a\n", "", "line 12: expected '.2-grams:'"),
        ("-0.3\t<s> a", "-0.3\t<s>\0 a", "line 12: holds a NUL byte"),
        ("-0.3\t<s> a", "-0.3\t<s>\u00a0a", "line 12: expected 'log10-probability words"),
    ],
)
def test_malformed_files_are_named_with_the_line(tmp_path, old, new, message):
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(UserError, match=message) as error:
        read_arpa(path, Vocabulary.from_sentences(["a b"]))
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize("name", ["copy.arpa", "copy.arpa.gz"])
def test_written_and_read_again(shared, tmp_path, name):
    tables, vocabulary = read_arpa(shared / "oracle/language_model/train2000.o3.arpa.gz")
    assert [len(table) for table in tables] == [3141, 11723, 19398]
    write_arpa(tmp_path / name, tables, vocabulary)
    again, same = read_arpa(tmp_path / name)
    assert same.words == vocabulary.words
    for one, other in zip(tables, again, strict=True):
        assert np.array_equal(one.words, other.words)
        np.testing.assert_allclose(one.log10_prob, other.log10_prob, rtol=1e-6)
        np.testing.assert_allclose(one.backoff, other.backoff, rtol=1e-6)


def test_bytes_that_are_not_utf8_are_named(tmp_path):
    path = tmp_path / "model.arpa"
    path.write_bytes(GOOD.replace("-1.25e-1 a", "-1.25e-1 \u00e9").encode("latin-1"))
    with pytest.raises(UserError, match=r"model\.arpa, line 9: not valid UTF-8"):
        read_arpa(path)


@pytest.mark.parametrize("unknown", ["<unk>", "<UNK>"])
def test_a_model_over_more_words_than_its_own(tmp_path, unknown):
    path = written(tmp_path, GOOD.replace("<unk>", unknown))
    tables, own = read_arpa(path)
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "z", "a"], [0] * 5)
    model = arpa_model(path, tables, own, vocabulary)
    assert model.vocabulary_digest == vocabulary.digest
    assert model.score_word(model.begin_state, 4)[0] == pytest.approx(-0.3)
    assert model.score_word(0, 3)[0] == pytest.approx(-1)
    fewer = Vocabulary(["<unk>", "<s>", "</s>"], [0] * 3)
    assert arpa_model(path, tables, own, fewer).ngrams == (3, 0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-1.25e-1 a -.5", "-1 </s>", "line 9: '</s>' stands twice"),
        ("-1\t</s>", "-1\t<UNK>", "line 8: '<unk>' stands twice"),
        ("ngram 2=1", "ngram 2=2", "line 13: '<s> a' stands twice"),
        ("-0.3\t<s> a", "-0.3\t<s> b", "line 12: '<s> b' ends in a word that is no unigram"),
        ("-0.3\t<s> a", "-0.3\tb a", "line 12: 'b a' has no context in the order below"),
    ],
)
def test_ngrams_that_spoil_the_model_are_named(tmp_path, old, new, message):
    text = GOOD.replace(old, new)
    if "2=2" in new:
        text = text.replace("<s> a\n", "<s> a\n-0.4 <s>\ta\n")
    path = written(tmp_path, text)
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "a", "b"], [0] * 5)
    tables, own = read_arpa(path, vocabulary)
    with pytest.raises(UserError, match=message) as error:
        arpa_model(path, tables, own, vocabulary)
    assert str(error.value).startswith(f"{path}, line ")
