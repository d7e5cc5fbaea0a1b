"""A system written for Moses and read again translates as before."""

from dataclasses import replace

import numpy as np
import pytest
from tiny_models import GROUPS, SOURCE, TARGET, random_model, random_ngrams, save_system

from neural_smt.cli import main
from neural_smt.decoding.features import Weights
from neural_smt.decoding.moses.compiled import OFF, load_model
from neural_smt.decoding.moses.ini import read_moses_ini
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.io.files import read_lines
from neural_smt.language_model.arpa import write_arpa
from neural_smt.language_model.model import NgramModel

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
    [
        (1, (*GROUPS, "encoder_decoder")),
        (1, (*GROUPS[:2], "encoder_decoder")),
        (2, GROUPS),
    ],
)
def test_what_is_exported_translates_as_before(make_system, tmp_path, seed, groups, language_models):
    search = {"algorithm": "cube", "pop_limit": 50, "distortion_limit": 2}
    model, weights, options = make_system(seed, groups, language_models, search)
    assert run_export(options) == 0
    ini = read_moses_ini(tmp_path / "moses" / "moses.ini")
    assert ini.settings == SearchSettings(**search)
    assert ini.phrase_scores == 4 + ("encoder_decoder" in groups)
    assert (ini.reordering_table is not None) == ("reordering" in groups)
    before = Decoder(model, ini.settings, weights).decode(SENTENCES, 5)
    after = Decoder(load_model(ini, OFF), ini.settings, ini.weights).decode(SENTENCES, 5)
    for old, new in zip(before, after, strict=True):
        assert old.tokens == new.tokens and old.alignment == new.alignment
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
    start = lines.index("[feature]")
    assert lines[start : start + 8] == [
        "[feature]",
        "UnknownWordPenalty",
        "WordPenalty",
        "PhrasePenalty",
        "PhraseDictionaryMemory name=TranslationModel0 num-features=5 table-limit=20 path=phrase-table.gz "
        "input-factor=0 output-factor=0",
        "LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff "
        "path=reordering-table.wbe-msd-bidirectional-fe.gz input-factor=0 output-factor=0",
        "Distortion",
        "KENLM name=LM0 factor=0 path=lm0.arpa.gz order=3",
    ]
    translation = [*weights.values["TranslationModel0"], *weights.values["EncoderDecoder0"]]
    assert f"TranslationModel0= {' '.join(map(repr, translation))}" in lines
    assert "UnknownWordPenalty0= 1.0" in lines and lines[lines.index("[distortion-limit]") + 1] == "6"
    rows = read_lines(tmp_path / "moses" / "phrase-table.gz")
    assert len(rows) == len(model.phrase_table) and {len(row.split(" ||| ")[2].split()) for row in rows} == {5}


def test_what_cannot_be_exported_is_named(make_system, tmp_path, capsys):
    model, weights, options = make_system(0, GROUPS[:2])
    Weights(weights.values | {"Cslm0": (0.1,)}).save(tmp_path / "weights.json")
    assert run_export(options) == 1
    assert "the weights name a feature Cslm0 that the system does not have" in capsys.readouterr().err
    weights.save(tmp_path / "weights.json")
    assert run_export(options | {"arpas": [tmp_path / "nowhere.arpa"]}) == 1
    assert "nowhere.arpa: cannot be copied" in capsys.readouterr().err
    assert run_export(options | {"arpas": options["arpas"] * 2}) == 1
    assert "1 language models but 2 ARPA files" in capsys.readouterr().err
    words = [word.replace("a", "a|b") for word in SOURCE.words]
    renamed = type(SOURCE)(words, SOURCE.counts)
    renamed.save(tmp_path / "source.tsv")
    replace(model.phrase_table, source_digest=renamed.digest).save(tmp_path / "table")
    assert run_export(options) == 1
    assert "the phrase table has the word 'a|b', but Moses takes | for a separator" in capsys.readouterr().err
    assert not (tmp_path / "moses").exists()
