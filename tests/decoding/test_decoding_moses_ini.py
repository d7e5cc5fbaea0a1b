"""What a ``moses.ini`` says is honoured or refused by line, never ignored; one that is written translates as before."""

import gzip
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from moses_folder import FEATURES, WEIGHTS, score_of_x_z, write_model
from refusals import check_error, check_refused
from tiny_models import GROUPS, SOURCE, TARGET, random_model, random_ngrams, save_system

from neural_smt.cli import main
from neural_smt.decoding.features import Weights
from neural_smt.decoding.moses.compiled import OFF, load_model
from neural_smt.decoding.moses.ini import read_moses_ini
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.io.files import read_lines, read_yaml
from neural_smt.language_model.arpa import write_arpa
from neural_smt.language_model.model import NgramModel

CASES = read_yaml(Path(__file__).with_name("moses_ini.yaml"))


@pytest.mark.parametrize(("sections", "search", "longest", "threads"), CASES["search"])
def test_the_search_of_an_ini_is_that_of_moses(tmp_path, sections, search, longest, threads):
    ini = read_moses_ini(write_model(tmp_path, sections=sections))
    assert ini.settings == SearchSettings(**search)
    assert (ini.max_phrase_length, ini.threads, ini.phrase_scores) == (longest, threads, 4)
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
    check_refused(["line 15", "lm.arpa", "other", "absolute path"], read_moses_ini, ini)


@pytest.mark.parametrize(("old", "new", "pieces"), CASES["refused"])
def test_what_an_ini_asks_for_is_never_ignored(tmp_path, old, new, pieces):
    ini = write_model(tmp_path)
    text = ini.read_text()
    assert old in text
    ini.write_text(text.replace(old, new, 1))
    check_refused(pieces, read_moses_ini, ini)


@pytest.mark.parametrize(
    ("name", "changes", "pieces"),
    [
        ("lm.arpa", {"\\data\\": "mmap lm http://kheafield.com"}, ["line 15", "lm.arpa", "ARPA"]),
        ("lm.arpa", {"-0.5\tx z": "-1e39\tx z"}, ["lm.arpa", "line 15", "finite"]),
        ("moses.ini", {"=4": "=3", " 0.4\nLex": "\nLex"}, ["phrase-table", "4 scores", "num-features=3"]),
    ],
)
def test_files_that_do_not_fit_the_ini_are_refused(tmp_path, name, changes, pieces):
    ini = write_model(tmp_path)
    for old, new in changes.items():
        (tmp_path / name).write_text((tmp_path / name).read_text().replace(old, new))
    check_refused(pieces, lambda: load_model(read_moses_ini(ini)))
    assert not (tmp_path / "moses.ini.compiled").exists()


SENTENCES = [["a", "b", "c"], ["b", "a", "b", "a"], [], ["q", "unknown", "a"], ["c"]]


@pytest.fixture
def make_system(tmp_path):
    """A function that writes a random system as a folder; it returns model, weights and options of ``export``."""

    def make(seed, groups, language_models=1, search=None):
        model, weights = random_model(seed, groups, language_models)
        ngrams = [random_ngrams(np.random.default_rng(seed + i), 3 - i) for i in range(language_models)]
        model = replace(model, language_models=tuple(NgramModel.from_tables(tables, TARGET) for tables in ngrams))
        arpas = [tmp_path / f"model{number}.arpa.gz" for number in range(language_models)]
        for path, tables in zip(arpas, ngrams, strict=True):
            write_arpa(path, tables, TARGET)
        options = save_system(tmp_path, model, weights, search)
        return model, weights, options | {"output": tmp_path / "moses", "arpas": arpas}

    return make


def run_export(options):
    words = [[f"--{name}", *(value if isinstance(value, list) else [value])] for name, value in options.items()]
    return main(["export", *(str(word) for group in words for word in group)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("language_models", "groups"),
    [(1, (*GROUPS, "encoder_decoder")), (1, (*GROUPS[:2], "encoder_decoder")), (2, GROUPS)],
)
def test_what_is_exported_translates_as_before(make_system, tmp_path, seed, groups, language_models):
    search = {"algorithm": "cube", "pop_limit": 50, "distortion_limit": 2}
    model, weights, options = make_system(seed, groups, language_models, search)
    assert run_export(options) == 0
    ini = read_moses_ini(tmp_path / "moses" / "moses.ini")
    assert ini.settings == SearchSettings(**search)
    assert ini.phrase_scores == 4 + ("encoder_decoder" in groups)
    assert (ini.reordering_table is not None) == ("reordering" in groups)
    before = Decoder(model, ini.settings, weights).decode(SENTENCES, 5, traced=1)
    after = Decoder(load_model(ini, OFF), ini.settings, ini.weights).decode(SENTENCES, 5, traced=1)
    for old, new in zip(before, after, strict=True):
        assert old.tokens == new.tokens and old.trace.alignment == new.trace.alignment
        assert [entry.tokens for entry in old.nbest] == [entry.tokens for entry in new.nbest]
        np.testing.assert_allclose([e.score for e in old.nbest], [e.score for e in new.nbest], atol=1e-3)
        np.testing.assert_allclose(
            [sorted(e.features) for e in old.nbest], [sorted(e.features) for e in new.nbest], atol=1e-3
        )


def test_the_folder_is_what_moses_expects(make_system, tmp_path):
    model, weights, options = make_system(0, (*GROUPS, "encoder_decoder"))
    assert run_export(options) == 0
    assert sorted(path.name for path in (tmp_path / "moses").iterdir()) == [
        "lm0.arpa.gz",
        "moses.ini",
        "phrase-table.gz",
        "reordering-table.wbe-msd-bidirectional-fe.gz",
    ]
    lines = read_lines(tmp_path / "moses" / "moses.ini")
    assert lines[: lines.index("[weight]")] == read_lines(Path(__file__).with_name("exported_moses.ini"))
    translation = [*weights.values["TranslationModel0"], *weights.values["EncoderDecoder0"]]
    assert f"TranslationModel0= {' '.join(map(repr, translation))}" in lines
    assert "UnknownWordPenalty0= 1.0" in lines
    rows = read_lines(tmp_path / "moses" / "phrase-table.gz")
    assert len(rows) == len(model.phrase_table) and {len(row.split(" ||| ")[2].split()) for row in rows} == {5}


def test_what_cannot_be_exported_is_named(make_system, tmp_path, capsys):
    model, weights, options = make_system(0, GROUPS[:2])
    Weights(weights.values | {"Cslm0": (0.1,)}).save(tmp_path / "weights.json")
    assert run_export(options) == 1
    check_error(capsys.readouterr().err, ["weights", "Cslm0"])
    weights.save(tmp_path / "weights.json")
    assert run_export(options | {"arpas": [tmp_path / "nowhere.arpa"]}) == 1
    check_error(capsys.readouterr().err, ["nowhere.arpa", "copied"])
    assert run_export(options | {"arpas": options["arpas"] * 2}) == 1
    check_error(capsys.readouterr().err, ["language models", "2 ARPA files"])
    words = [word.replace("a", "a|b") for word in SOURCE.words]
    renamed = type(SOURCE)(words, SOURCE.counts)
    renamed.save(tmp_path / "source.tsv")
    replace(model.phrase_table, source_digest=renamed.digest).save(tmp_path / "table")
    assert run_export(options) == 1
    check_error(capsys.readouterr().err, ["phrase table", "'a|b'"])
    assert not (tmp_path / "moses").exists()
