"""What a ``moses.ini`` says is honoured or refused by line, never ignored."""

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moses_folder import FEATURES, WEIGHTS, score_of_x_z, write_model

from neural_smt.decoding.moses.compiled import OFF, load_model
from neural_smt.decoding.moses.ini import read_moses_ini
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.errors import UserError
from neural_smt.io.files import read_yaml


def test_the_search_of_an_ini_is_that_of_moses(tmp_path):
    ini = read_moses_ini(write_model(tmp_path, sections=""))
    assert ini.settings == SearchSettings(
        algorithm="stack", stack_size=200, beam_threshold=1e-5, distortion_limit=-1, table_limit=20, pop_limit=1000
    )
    assert (ini.max_phrase_length, ini.threads, ini.phrase_scores) == (20, None, 4)
    sections = "[stack]\n50\n[beam-threshold]\n0.001\n[distortion-limit]\n0\n[search-algorithm]\n1\n"
    sections += "[cube-pruning-pop-limit]\n70\n[ttable-limit]\n5\n[max-phrase-length]\n1\n[threads]\n3\n[verbose]\n1\n"
    ini = read_moses_ini(write_model(tmp_path, sections=sections))
    assert ini.settings == SearchSettings(
        algorithm="cube", stack_size=50, beam_threshold=0.001, distortion_limit=0, table_limit=5, pop_limit=70
    )
    assert (ini.max_phrase_length, ini.threads) == (1, 3)
    features = FEATURES.replace("num-features=4", "num-features=4 table-limit=7")
    assert read_moses_ini(write_model(tmp_path, features, sections="[threads]\nall\n")).threads == os.cpu_count()
    assert read_moses_ini(write_model(tmp_path, features)).settings.table_limit == 7


def test_names_and_weights_follow_the_ini(tmp_path):
    features = "KENLM name=Big path=lm.arpa\nKENLM path=lm.arpa\nWordPenalty name=Length filterable=true\nDistortion\n"
    features += "PhraseDictionaryMemory num-features=4 path=phrase-table\n"
    weights = "KENLM0= 0.25\nBig= 0.5\nPhraseDictionaryMemory0= 1 2 3 4\nLength= -1\nDistortion0= 0.125\n"
    ini = read_moses_ini(write_model(tmp_path, features, weights))
    assert list(ini.names.items()) == [
        ("LM0", "Big"),
        ("LM1", "KENLM0"),  # Moses counts those without a name
        ("Distortion0", "Distortion0"),
        ("WordPenalty0", "Length"),
        ("TranslationModel0", "PhraseDictionaryMemory0"),
    ]
    model = load_model(ini, OFF)
    vector = ini.weights.vector(model.feature_set)
    assert model.feature_set.names[:3] == ["Distortion0", "LM0", "LM1"]
    assert vector.tolist() == [0.125, 0.5, 0.25, 0, -1, 0, 1, 2, 3, 4]  # no phrase or unknown word penalty: weight 0


@pytest.mark.parametrize(("line", "weight"), [("", 1.0), ("UnknownWordPenalty0= 0.5\n", 0.5)])
def test_the_weight_of_unknown_words_is_1_unless_given(tmp_path, line, weight):
    ini = read_moses_ini(write_model(tmp_path, weights=WEIGHTS.replace("UnknownWordPenalty0= 1\n", line)))
    assert ini.weights.values["UnknownWordPenalty0"] == (weight,)


@pytest.mark.parametrize("longest", [1, 2])
def test_a_model_written_by_hand_scores_as_by_hand(tmp_path, longest):
    ini = read_moses_ini(write_model(tmp_path, sections=f"[distortion-limit]\n6\n[max-phrase-length]\n{longest}\n"))
    translation = Decoder(load_model(ini, OFF), ini.settings, ini.weights).decode([["a", "b"]], 20, False)[0]
    assert translation.tokens == ["x", "z"]
    assert translation.score == pytest.approx(score_of_x_z(), abs=1e-5)
    short = {"x z", "y z", "z x", "z y"}
    assert {" ".join(entry.tokens) for entry in translation.nbest} == (short if longest == 1 else short | {"y x"})


def test_files_are_found_as_moses_finds_them(tmp_path, monkeypatch):
    ini = write_model(tmp_path / "model")
    assert read_moses_ini(ini).phrase_table == tmp_path / "model" / "phrase-table"
    table = tmp_path / "model" / "phrase-table"
    (tmp_path / "model" / "phrase-table.gz").write_bytes(gzip.compress(table.read_bytes()))
    table.unlink()
    assert read_moses_ini(ini).phrase_table == tmp_path / "model" / "phrase-table.gz"
    monkeypatch.chdir(tmp_path / "model")
    assert read_moses_ini(ini).phrase_table.samefile("phrase-table.gz")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    (tmp_path / "other" / "lm.arpa").write_text("another")
    with pytest.raises(UserError, match=r"line 15: lm.arpa is both .*other.* and .*; give an absolute path"):
        read_moses_ini(ini)


@pytest.mark.parametrize(("old", "new", "says"), read_yaml(Path(__file__).with_name("bad_moses_ini.yaml")))
def test_what_an_ini_asks_for_is_never_ignored(tmp_path, old, new, says):
    ini = write_model(tmp_path)
    text = ini.read_text()
    assert old in text
    ini.write_text(text.replace(old, new, 1))
    with pytest.raises(UserError) as refused:
        read_moses_ini(ini)
    assert says in str(refused.value)


BINARY = r"line 15: .*lm\.arpa is a binary of KenLM; give the ARPA file"


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("lm.arpa", {"\\data\\": "mmap lm http://kheafield.com"}, BINARY),
        ("lm.arpa", {"-0.5\tx z": "-1e39\tx z"}, r"lm\.arpa, line 15: expected a number, which must be finite"),
        ("moses.ini", {"=4": "=3", " 0.4\nLex": "\nLex"}, r"phrase-table.*has 4 scores but .* says num-features=3"),
    ],
)
def test_files_that_do_not_fit_the_ini_are_refused(tmp_path, name, changes, message):
    ini = write_model(tmp_path)
    for old, new in changes.items():
        (tmp_path / name).write_text((tmp_path / name).read_text().replace(old, new))
    with pytest.raises(UserError, match=message):
        load_model(read_moses_ini(ini))
    assert not (tmp_path / "moses.ini.compiled").exists()


@settings(max_examples=300)
@given(data=st.data())
def test_whatever_happens_to_an_ini_it_is_read_or_refused_in_one_sentence(tmp_path_factory, data):
    ini = write_model(tmp_path_factory.getbasetemp() / "spoilt")
    text = ini.read_text()
    pieces = ["", "=", "[", "]", "#", "\n", " ", "0", "-1", "1e999", "nan", "é", "\0", "name=", "path=/", "[feature]"]
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        stop = min(len(text), start + data.draw(st.sampled_from([0, 0, 1, 5, 40])))
        text = text[:start] + data.draw(st.sampled_from(pieces)) + text[stop:]
    ini.write_text(text)
    try:
        assert read_moses_ini(ini).phrase_table.is_file()
    except UserError as error:
        assert "moses.ini" in str(error) and "\n" not in str(error)
